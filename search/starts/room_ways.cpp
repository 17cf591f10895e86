#include "search/starts/room_ways.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

#include "core/plans/equal_blocks.h"
#include "core/plans/replicas.h"
#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

ColumnCut cut_to(const Table& table, int unit_dim, ColumnCut::Slices slices) {
  const std::int64_t bytes = slice_bytes(table, unit_dim);
  const std::int64_t unit_bytes = slice_bytes(table, 2 * unit_dim) - bytes;
  return {.slices = slices,
          .unit_dim = unit_dim,
          .units = table.dim / unit_dim,
          .unit_bytes = unit_bytes,
          .slice_bytes = bytes - unit_bytes};
}

/// The coarsest first; but for equal widths, the finest can do what the others can.
std::vector<ColumnCut> column_cuts(const Table& table, int t, const TableWays& ways) {
  using enum ColumnCut::Slices;
  const TableWays::OfTable& of = ways.of(t);
  const int most_slices = of.most_slices(Way::kDevice);
  const bool halves = ways.halves(t);
  const int least_width = halves ? narrowest_dim(table) : kDimMultiple;
  std::vector<ColumnCut> cuts;
  for (int parts = 1; parts <= table.dim / least_width; parts = halves ? 2 * parts : parts + 1) {
    const int width = table.dim / parts;
    if (table.dim % parts != 0 || width % kDimMultiple != 0) continue;
    if (parts > 1 && most_slices == 1) break;
    if (ways.equal_widths() && (parts > most_slices || !ways.may_be_wide(t, width))) continue;
    ColumnCut& cut = cuts.emplace_back(cut_to(table, width,
                                              ways.equal_widths() ? kUnits
                                              : halves            ? kHalves
                                                                  : kOne));
    if (cut.slices == kOne) cut.least_units = (of.least_width + width - 1) / width;
  }
  return cuts;
}

Spread blocks_of(const Task& task, int t, int first_device, int group) {
  const Table& table = task.tables[static_cast<std::size_t>(t)];
  Spread spread{.first_device = static_cast<std::size_t>(first_device), .bytes = {}};
  for_each_block(
      {t, 0, table.dim, 0, table.rows}, first_device, group,
      [&](const TableSlice& block, int) { spread.bytes.push_back(slice_bytes(task, block)); });
  return spread;
}

std::vector<Spread> spreads_of(const Task& task, int t, const TableWays& ways,
                               const TouchedGradients& touched) {
  const TableWays::OfTable& of = ways.of(t);
  std::vector<Spread> spreads;
  for (auto last = ways.list().rbegin(); last != ways.list().rend(); ++last) {
    const Way way = *last;
    const int group = ways.group(way);
    if (group == 1 || ways.is_deduplicated(way) || !of.may_be(way)) continue;
    for (int place = 0; place < ways.places(way); ++place) {
      if (of.may_be_at(way, place)) spreads.push_back(blocks_of(task, t, place * group, group));
    }
  }
  if (of.replica) {
    const std::int64_t bytes = replica_memory(task, t, touched).total_bytes();
    spreads.push_back(
        {.is_replica = true,
         .bytes = std::vector<std::int64_t>(static_cast<std::size_t>(task.devices), bytes)});
  }
  return spreads;
}

}  // namespace

int ColumnCut::units_of_slice(int some) const {
  if (slices == Slices::kHalves)
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(some)));
  return slices == Slices::kOne ? some : 1;
}

int ColumnCut::slices_of(int some) const {
  if (slices == Slices::kHalves) return std::popcount(static_cast<unsigned>(some));
  return slices == Slices::kOne ? std::min(some, 1) : some;
}

std::int64_t ColumnCut::most_bytes(int some) const {
  if (slices != Slices::kHalves) return bytes(some);
  return some * unit_bytes + std::bit_width(static_cast<unsigned>(some)) * slice_bytes;
}

int ColumnCut::fit(int some, std::int64_t room) const {
  if (bytes(some) <= room) return some;
  // At least one slice; or one for each unit.
  const std::int64_t for_units = equal_widths() ? room : room - slice_bytes;
  const std::int64_t of_unit = equal_widths() ? bytes(1) : unit_bytes;
  int fit = static_cast<int>(std::clamp<std::int64_t>(for_units / of_unit, 0, some));
  while (fit > 0 && bytes(fit) > room) --fit;  // Halves may be several slices.
  return fit;
}

std::int64_t Spread::total_bytes() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

std::int64_t RoomTable::least_bytes() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const ColumnCut& cut : cuts) least = std::min(least, cut.bytes(cut.units));
  for (const Spread& spread : spreads) least = std::min(least, spread.total_bytes());
  return least;
}

std::vector<RoomTable> room_tables(const BundledTask& bundled, const TableWays& ways) {
  const Task& task = bundled.task;
  const TouchedGradients touched(task);
  std::vector<RoomTable> tables;
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    const int t = static_cast<int>(i);
    const TableWays::OfTable& of = ways.of(t);
    RoomTable& table = tables.emplace_back();
    table.table = i;
    table.most_slices = static_cast<std::size_t>(of.most_slices(Way::kDevice));
    table.devices = of.allowed.empty()
                        ? std::vector<bool>(static_cast<std::size_t>(task.devices), true)
                        : of.allowed.front();
    table.holders = static_cast<std::size_t>(std::ranges::count(table.devices, true));
    if (of.may_be(Way::kDevice)) table.cuts = column_cuts(task.tables[i], t, ways);
    table.spreads = spreads_of(task, t, ways, touched);
  }
  for (const BundledTask::Bundle& bundle : bundled.bundles) {
    std::int64_t bytes = 0;
    for (const Table& table : bundle.tables) bytes += table.size_bytes();
    for (ColumnCut& cut : tables[bundle.table].cuts) {
      cut.unit_bytes = bytes;
      cut.slice_bytes = 0;
    }
  }
  std::ranges::stable_sort(tables, std::greater(), &RoomTable::least_bytes);
  return tables;
}

}  // namespace neuroshard
