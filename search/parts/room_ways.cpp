#include "search/parts/room_ways.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/plans/replicas.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/parts/column_parts.h"
#include "search/parts/even_blocks.h"

namespace neuroshard {
namespace {

ColumnCut whole_cut(const Task& task, const std::vector<std::uint32_t>& tables) {
  std::int64_t bytes = 0;
  for (const std::uint32_t t : tables) bytes += task.tables[t].size_bytes();
  return {.unit_dim = task.tables[tables.front()].dim, .bytes = {bytes}};
}

std::vector<ColumnCut> column_cuts(const Table& table, bool equal_widths) {
  const int most = most_column_parts(table);
  const int units = table.dim / kDimMultiple;
  std::vector<ColumnCut> cuts;
  if (equal_widths) {
    for (int parts = 1; parts <= most; ++parts) {
      if (units % parts != 0) continue;
      ColumnCut& cut = cuts.emplace_back();
      cut.unit_dim = table.dim / parts;
      cut.joined = false;
      const std::int64_t of_slice = slice_bytes(table, cut.unit_dim);
      for (int some = 1; some <= parts; ++some) cut.bytes.push_back(some * of_slice);
    }
    return cuts;
  }
  ColumnCut& cut = cuts.emplace_back();
  if (most == 1) {
    cut.unit_dim = table.dim;
    cut.bytes.push_back(table.size_bytes());
    return cuts;
  }
  cut.unit_dim = kDimMultiple;
  cut.least_units = static_cast<std::uint32_t>(
      std::max(1, (least_width(table) + kDimMultiple - 1) / kDimMultiple));
  for (int some = 1; some <= units; ++some) {
    cut.bytes.push_back(slice_bytes(table, some * kDimMultiple));
  }
  return cuts;
}

std::vector<std::int64_t> bytes_of_blocks(const Task& task, std::uint32_t t, int first_device,
                                          int group) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  const Table& table = task.tables[t];
  add_blocks(plan, task, {static_cast<int>(t), 0, table.dim, 0, table.rows}, first_device, group);
  std::vector<std::int64_t> bytes(plan.shards.size(), 0);
  for (std::size_t d = 0; d < bytes.size(); ++d) {
    for (const int slice : plan.shards[d]) {
      bytes[d] += slice_bytes(task, plan.slices[static_cast<std::size_t>(slice)]);
    }
  }
  return bytes;
}

std::vector<Spread> spreads_of(const Task& task, std::uint32_t t, const TouchedGradients& touched) {
  std::vector<Spread> spreads;
  const Table& table = task.tables[t];
  const std::vector<int> groups = block_groups(task);
  if (may_be_cut(task, table, groups.front())) {
    spreads.push_back({Spread::Kind::kRowWise, 0, bytes_of_blocks(task, t, 0, task.devices)});
  }
  if (groups.size() > 1 && may_be_cut(task, table, groups.back())) {
    const int node = groups.back();
    const std::vector<bool> allowed = allowed_devices(table.rules, task);
    for (int first = 0; first < task.devices; first += node) {
      if (std::all_of(allowed.begin() + first, allowed.begin() + first + node, std::identity{})) {
        spreads.push_back(
            {Spread::Kind::kNodeBlocks, first, bytes_of_blocks(task, t, first, node)});
      }
    }
  }
  if (may_be_sharded(task, table, ShardingKind::kReplicate)) {
    const std::int64_t bytes = replica_memory(task, static_cast<int>(t), touched).total_bytes();
    spreads.push_back({Spread::Kind::kReplica, 0,
                       std::vector<std::int64_t>(static_cast<std::size_t>(task.devices), bytes)});
  }
  return spreads;
}

Guest guest_of(const Task& task, std::vector<std::uint32_t> tables, bool equal_widths,
               const TouchedGradients& touched) {
  Guest guest;
  guest.tables = std::move(tables);
  const Table& table = task.tables[guest.tables.front()];
  const bool bundle = guest.tables.size() > 1;
  const std::vector<bool> allowed =
      bundle ? allowed_devices(task, guest.tables) : allowed_devices(table.rules, task);
  for (std::uint32_t device = 0; device < allowed.size(); ++device) {
    if (allowed[device]) guest.devices.push_back(device);
  }
  if (bundle) {
    guest.cuts.push_back(whole_cut(task, guest.tables));
  } else {
    if (table.rules.max_slices > 0) {
      guest.most_slices = static_cast<std::size_t>(table.rules.max_slices);
    }
    if (may_be_in_columns(task, table)) guest.cuts = column_cuts(table, equal_widths);
    guest.spreads = spreads_of(task, guest.tables.front(), touched);
  }
  std::int64_t least_slice = std::numeric_limits<std::int64_t>::max();
  for (const ColumnCut& cut : guest.cuts) {
    guest.least_bytes = std::min(guest.least_bytes, cut.bytes.back());
    least_slice = std::min(least_slice, cut.bytes[cut.least_units - 1]);
  }
  for (const Spread& spread : guest.spreads) {
    guest.least_bytes =
        std::min(guest.least_bytes,
                 std::accumulate(spread.bytes.begin(), spread.bytes.end(), std::int64_t{0}));
    least_slice = std::min(least_slice, std::ranges::max(spread.bytes));
  }
  guest.least_slice_bytes = least_slice;
  return guest;
}

}  // namespace

std::vector<Guest> guests_of(const Task& task, bool equal_widths) {
  const TouchedGradients touched(task);
  std::vector<Guest> guests;
  std::vector<bool> in_bundle(task.tables.size(), false);
  for (const TableBundle& bundle : table_bundles(task)) {
    guests.push_back(guest_of(task, bundle, equal_widths, touched));
    for (const std::uint32_t t : bundle) in_bundle[t] = true;
  }
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (!in_bundle[t]) guests.push_back(guest_of(task, {t}, equal_widths, touched));
  }
  std::ranges::stable_sort(guests, {}, [](const Guest& guest) {
    return std::tuple(guest.devices.size(), -guest.least_slice_bytes, -guest.least_bytes);
  });
  return guests;
}

}  // namespace neuroshard
