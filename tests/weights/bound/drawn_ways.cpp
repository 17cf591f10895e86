#include "weights/bound/drawn_ways.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>

namespace neuroshard::testing {
namespace {

const Table& table_at(const Task& task, int table) {
  return task.tables[static_cast<std::size_t>(table)];
}

/// Shares `units` out to all devices, or to none, in any way.
void for_each_share(int devices, int units,
                    const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> shares(static_cast<std::size_t>(devices), 0);
  const std::function<void(std::size_t, int)> from = [&](std::size_t device, int left) {
    if (device + 1 == shares.size()) {
      shares[device] = left;
      visit(shares);
      return;
    }
    for (shares[device] = 0; shares[device] <= left; ++shares[device]) {
      from(device + 1, left - shares[device]);
    }
  };
  from(0, units);
}

/// Cuts [0, end) at multiples of `step` into so many parts, or as many as there are.
std::vector<std::int64_t> drawn_cuts(std::int64_t end, std::int64_t step, std::size_t parts,
                                     Random& random) {
  std::vector<std::int64_t> cuts{0, end};
  for (std::size_t part = 1; part < parts; ++part) {
    const auto units = static_cast<std::uint64_t>(end / step);
    cuts.push_back(step * static_cast<std::int64_t>(random.below(units)));
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

}  // namespace

void place(const PlacedTable& placed, int table, Plan& plan) {
  if (placed.slices.empty()) plan.replicas.push_back(table);
  for (std::size_t i = 0; i < placed.slices.size(); ++i) {
    plan.shards[static_cast<std::size_t>(placed.devices[i])].push_back(
        static_cast<int>(plan.slices.size()));
    plan.slices.push_back(placed.slices[i]);
  }
}

std::vector<PlacedTable> all_ways(const Task& task, int table) {
  const Table& whole = table_at(task, table);
  std::vector<PlacedTable> ways;
  for_each_share(task.devices, whole.dim / kDimMultiple, [&](const std::vector<int>& units) {
    PlacedTable& way = ways.emplace_back();
    int column = 0;
    for (int device = 0; device < task.devices; ++device) {
      const int dim = kDimMultiple * units[static_cast<std::size_t>(device)];
      if (dim == 0) continue;
      way.slices.push_back({table, column, dim, 0, whole.rows});
      way.devices.push_back(device);
      column += dim;
    }
  });
  ways.emplace_back();
  // Blocks on some devices, of all columns or of the first half, with the others on one device.
  for (unsigned holders = 1; holders < 1U << task.devices; ++holders) {
    const int blocks = std::popcount(holders);
    if (blocks < 2 || whole.rows < blocks) continue;
    for (int rest = -1; rest < task.devices; ++rest) {
      const int dim = rest < 0 ? whole.dim : whole.dim / 2 / kDimMultiple * kDimMultiple;
      if (dim == 0) continue;
      PlacedTable& way = ways.emplace_back();
      if (rest >= 0) {
        way.slices.push_back({table, dim, whole.dim - dim, 0, whole.rows});
        way.devices.push_back(rest);
      }
      int block = 0;
      for (int device = 0; device < task.devices; ++device) {
        if ((holders >> device & 1U) == 0) continue;
        const std::int64_t first = block * whole.rows / blocks;
        ++block;
        way.slices.push_back({table, 0, dim, first, block * whole.rows / blocks - first});
        way.devices.push_back(device);
      }
    }
  }
  // Blocks on one device, which are no means where the table is one.
  for (int device = 0; device < task.devices && whole.rows > 1; ++device) {
    const std::int64_t half = whole.rows / 2;
    ways.push_back(
        {.slices = {{table, 0, whole.dim, 0, half}, {table, 0, whole.dim, half, whole.rows - half}},
         .devices = {device, device}});
  }
  return ways;
}

PlacedTable drawn_way(const Task& task, int table, Random& random) {
  const Table& whole = table_at(task, table);
  PlacedTable way;
  const auto kind = random.below(8);
  if (kind == 0) return way;
  const auto most = static_cast<std::uint64_t>(task.devices) + 1;
  const bool by_columns = kind >= 4;
  const bool by_rows = kind == 3 || kind == 7;
  const auto columns =
      drawn_cuts(whole.dim, kDimMultiple, by_columns ? 1 + random.below(most) : 1, random);
  for (std::size_t c = 0; c + 1 < columns.size(); ++c) {
    const auto rows = drawn_cuts(whole.rows, 1, by_rows ? 1 + random.below(most) : 1, random);
    for (std::size_t r = 0; r + 1 < rows.size(); ++r) {
      way.slices.push_back({table, static_cast<int>(columns[c]),
                            static_cast<int>(columns[c + 1] - columns[c]), rows[r],
                            rows[r + 1] - rows[r]});
      way.devices.push_back(
          static_cast<int>(random.below(static_cast<std::uint64_t>(task.devices))));
    }
  }
  return way;
}

}  // namespace neuroshard::testing
