#include "search/state/table_ways.h"

#include "core/plans/equal_blocks.h"
#include "core/plans/replicas.h"
#include "core/plans/sharding_kinds.h"
#include "core/plans/slice_prices.h"
#include "core/tables/table_rules.h"
#include "neuroshard/plan.h"

namespace neuroshard {

TableWays::TableWays(ShardCatalog& catalog, const BundledTask& bundled, const WayOptions& options)
    : catalog_(catalog),
      task_(bundled.task),
      devices_(task_.devices),
      options_(options),
      apart_(task_),
      blocks_(task_.tables.size() * kMostForms) {
  for (std::size_t form = 0; form < options_.forms.size(); ++form) {
    const bool may_be = options_.parts || !options_.forms[form].of_part;
    groups_[form] = may_be ? options_.forms[form].group(task_) : 0;
    if (groups_[form] == 0) continue;
    list_.push_back(static_cast<Way>(form));
    places_[form] = devices_ / groups_[form];
    if (places_[form] > 1) with_places_.push_back(list_.back());
  }
  options_.replicas = options_.replicas && catalog.backend().prices_replicas();
  deduplicates_ = prices_deduplication(catalog.backend());
  const std::int64_t least_room = std::ranges::min(rooms_bytes(task_));
  for (std::size_t t = 0; t < task_.tables.size(); ++t) {
    static constexpr WayOptions::OfTable kAnyWay{};
    of_tables_.push_back(ways_of(
        static_cast<int>(t), bundled.bundle(t) != nullptr,
        options.of_tables.empty() ? kAnyWay : options.of_tables[bundled.original[t]], least_room));
  }
}

TableWays::OfTable TableWays::ways_of(int table, bool is_bundle, const WayOptions::OfTable& own,
                                      std::int64_t least_room) const {
  const Table& of = task_.tables[static_cast<std::size_t>(table)];
  OfTable ways{.least_width = std::min(of.dim, std::max(kDimMultiple, of.rules.min_width)),
               .any_widths = own.any_widths};
  for (const Way way : list_) {
    const int group = this->group(way);
    // A bundle is whole, and one row has no blocks, unless rules want some.
    const bool is_whole = is_bundle || (of.rows < 2 && may_be_in_columns(task_, of));
    const bool deduplicated = form(way).deduplicated;
    if ((group > 1 && is_whole) || (deduplicated && (is_bundle || !deduplicates_))) continue;
    // Devices of a place are taken by tables that groups keep apart, with a block or without.
    if (group > 1 && any_apart(table) && count_of_blocks(of.rows, group) < group) continue;
    const bool needs_rows = group > 1 || deduplicated;
    if (own.only ? *own.only != way : needs_rows && !options_.rows) continue;
    const int most_slices = form(way).most_slices(task_, of, group);
    ways.most[static_cast<std::size_t>(way)] = is_bundle ? std::min(1, most_slices) : most_slices;
  }
  if (limits_places(task_, of)) {
    ways.allowed.resize(options_.forms.size());
    const DeviceSet allowed = allowed_set(of.rules, task_);
    for (const Way way : list_) {
      for (int place = 0; place < places(way); ++place) {
        ways.allowed[static_cast<std::size_t>(way)].push_back(
            neuroshard::may_be_at(task_, of, allowed, group(way), place));
      }
    }
  }
  ways.replica = (own.only ? *own.only == Way::kReplica : options_.replicas) && !is_bundle &&
                 devices_ > 1 && may_be_sharded(task_, of, ShardingKind::kReplicate) &&
                 catalog_.replica_load(table).bytes <= least_room;
  return ways;
}

Way TableWays::way_but_replica(int table) const {
  if (of(table).may_be(Way::kDevice)) return Way::kDevice;
  const auto may_be = [&](Way way) { return of(table).may_be(way); };
  const auto way = std::find_if(list_.rbegin(), list_.rend(), may_be);
  return way == list_.rend() ? Way::kDevice : *way;
}

const TableWays::Blocks& TableWays::blocks(int table, Way way) const {
  std::unique_ptr<Blocks>& blocks =
      blocks_[static_cast<std::size_t>(table) * kMostForms + static_cast<std::size_t>(way)];
  if (!blocks) blocks = std::make_unique<Blocks>(make_blocks(table, way));
  return *blocks;
}

TableWays::Blocks TableWays::make_blocks(int table, Way way) const {
  const Table& of = task_.tables[static_cast<std::size_t>(table)];
  const int group = this->group(way);
  const std::int64_t rows = rows_of_block(of.rows, group);
  Blocks blocks{.count = count_of_blocks(of.rows, group)};
  std::vector<HeldSlice> held;
  for (int i = 0; i < blocks.count; ++i) {
    const std::int64_t first = i * rows;
    held.push_back({{table, 0, of.dim, first, std::min(rows, of.rows - first)}, i});
  }
  const KindPrice* price = price_of_blocks(catalog_.backend(), task_, held);
  const auto number = [&](const HeldSlice& block) {
    return catalog_.rows(table, block.slice.first_row, block.slice.rows, price,
                         form(way).deduplicated);
  };
  blocks.rows = number(held.front());
  blocks.last = number(held.back());
  if (!of.row_shares.empty())
    std::ranges::transform(held, std::back_inserter(blocks.uneven), number);
  return blocks;
}

bool TableWays::may_be_wide(int table, int width) const {
  if (width < of(table).least_width) return false;
  if (!halves(table)) return true;
  return halved_to(width, task_.tables[static_cast<std::size_t>(table)].dim) == width;
}

std::vector<int> TableWays::widths(int table, Way way, int slices) const {
  const OfTable& ways = of(table);
  const int dim = task_.tables[static_cast<std::size_t>(table)].dim;
  if (!ways.may_be(way)) return {};
  if (way == Way::kReplica) return {dim};
  const int units = dim / kDimMultiple;
  const int least = (ways.least_width + kDimMultiple - 1) / kDimMultiple;
  int count = std::min({std::max(1, slices), ways.most_slices(way), std::max(1, units / least)});
  const auto is_possible = [&] {
    return (!options_.equal_widths && !options_.halves) ||
           (units % count == 0 && may_be_wide(table, dim / count));
  };
  while (!is_possible()) --count;
  std::vector<int> widths;
  widths.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    widths.push_back(kDimMultiple * (units / count + (i < units % count ? 1 : 0)));
  }
  return widths;
}

}  // namespace neuroshard
