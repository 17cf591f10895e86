#include "search/state/table_ways.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/plans/equal_blocks.h"
#include "core/plans/sharding_kinds.h"
#include "core/tables/table_rules.h"
#include "neuroshard/plan.h"
#include "search/state/even_blocks.h"

namespace neuroshard {
namespace {

constexpr int kAnyNumber = std::numeric_limits<int>::max();

TableWays::OfTable ways_of(const Task& task, const Table& table, bool bundle, int node,
                           const WayOptions& options) {
  const TableRules& rules = table.rules;
  TableWays::OfTable ways;
  ways.device = may_be_in_columns(task, table);
  const bool whole = bundle || rules.no_split;
  const int most = rules.max_slices > 0 ? rules.max_slices : kAnyNumber;
  ways.most_slices = whole || !rules.allow(ShardingKind::kColumn) ? 1 : most;
  ways.least_width = std::min(table.dim, std::max(kDimMultiple, rules.min_width));
  if (rules.limit_devices()) {
    ways.any_device = false;
    ways.devices = allowed_devices(rules, task);
    for (int first = 0; node > 0 && first < task.devices; first += node) {
      const auto begin = ways.devices.begin() + first;
      ways.nodes.push_back(std::all_of(begin, begin + node, std::identity{}));
    }
  }
  if (bundle || task.devices < 2) return ways;
  // One row has no blocks, unless rules want some.
  if (options.rows && (table.rows > 1 || !ways.device)) {
    ways.all = may_be_cut(task, table, task.devices);
    ways.node = node > 0 && may_be_cut(task, table, node);
    const bool grid = !whole && may_be_sharded(task, table, ShardingKind::kGrid);
    ways.most_node_slices = grid && node > 0 ? most / count_of_blocks(table.rows, node) : 1;
  }
  ways.replica = options.replicas && may_be_sharded(task, table, ShardingKind::kReplicate);
  return ways;
}

}  // namespace

const KindPrice* price_of_blocks(const Backend& backend, const Task& task,
                                 const std::vector<HeldSlice>& held) {
  const std::vector<ShardingKind> kinds = kinds_of_slices(task, held);
  for (const ShardingKind kind :
       {ShardingKind::kRow, ShardingKind::kTableRow, ShardingKind::kGrid}) {
    if (std::ranges::find(kinds, kind) == kinds.end()) continue;
    if (const KindPrice* price = backend.kind_price(kind)) return price;
  }
  return nullptr;
}

TableWays::TableWays(ShardCatalog& catalog, const BundledTask& bundled, const WayOptions& options)
    : catalog_(catalog),
      task_(bundled.task),
      devices_(task_.devices),
      per_node_(std::min(task_.devices_per_node, task_.devices)),
      options_(options),
      apart_(task_),
      node_blocks_(task_.tables.size()),
      all_blocks_(task_.tables.size()) {
  const bool has_nodes = block_groups(task_).size() > 1;
  if (has_nodes) nodes_ = devices_ / per_node_;
  std::vector<bool> is_bundle(task_.tables.size(), false);
  for (const BundledTask::Bundle& bundle : bundled.bundles) is_bundle[bundle.table] = true;
  const std::vector<std::int64_t> rooms = rooms_bytes(task_);
  const std::int64_t least_room = *std::ranges::min_element(rooms);
  WayOptions possible = options;
  possible.replicas = possible.replicas && catalog.backend().prices_replicas();
  for (std::size_t t = 0; t < task_.tables.size(); ++t) {
    static constexpr WayOptions::OfTable kAnyWay{};
    const WayOptions::OfTable& of_table =
        options.of_tables.empty() ? kAnyWay : options.of_tables[bundled.original[t]];
    WayOptions of_one = possible;
    if (of_table.only) of_one.rows = of_one.replicas = true;
    OfTable ways = ways_of(task_, task_.tables[t], is_bundle[t], has_nodes ? per_node_ : 0, of_one);
    ways.any_widths = of_table.any_widths;
    if (const std::optional<Way>& only = of_table.only) {
      ways.device &= *only == Way::kDevice;
      ways.node &= *only == Way::kNode;
      ways.all &= *only == Way::kAll;
      ways.replica &= *only == Way::kReplica;
    }
    if (ways.replica) {
      ways.replica = catalog.replica_load(static_cast<int>(t)).bytes <= least_room;
    }
    of_tables_.push_back(std::move(ways));
  }
}

const TableWays::Blocks& TableWays::blocks(int table, Way way) const {
  auto& blocks = (way == Way::kNode ? node_blocks_ : all_blocks_)[static_cast<std::size_t>(table)];
  if (!blocks) blocks = std::make_unique<Blocks>(make_blocks(table, way));
  return *blocks;
}

TableWays::Blocks TableWays::make_blocks(int table, Way way) const {
  const Table& of = task_.tables[static_cast<std::size_t>(table)];
  const int group = way == Way::kNode ? per_node_ : devices_;
  const std::int64_t rows = rows_of_block(of.rows, group);
  Blocks blocks{.count = count_of_blocks(of.rows, group)};
  std::vector<HeldSlice> held;
  for (int i = 0; i < blocks.count; ++i) {
    const std::int64_t first = i * rows;
    held.push_back({{table, 0, of.dim, first, std::min(rows, of.rows - first)}, i});
  }
  const KindPrice* price = price_of_blocks(catalog_.backend(), task_, held);
  const auto number = [&](const HeldSlice& block) {
    return catalog_.rows(table, block.slice.first_row, block.slice.rows, price);
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
  int half = task_.tables[static_cast<std::size_t>(table)].dim;
  while (half > width && can_split_columns(half)) half /= 2;
  return half == width;
}

std::vector<int> TableWays::widths(int table, Way way, int slices) const {
  const OfTable& ways = of(table);
  const int dim = task_.tables[static_cast<std::size_t>(table)].dim;
  if (!ways.may_be(way) || way == Way::kReplica) return {};
  if (way == Way::kAll) return {dim};
  const int units = dim / kDimMultiple;
  const int least = (ways.least_width + kDimMultiple - 1) / kDimMultiple;
  int count =
      std::min({std::max(1, slices), way == Way::kDevice ? ways.most_slices : ways.most_node_slices,
                std::max(1, units / least)});
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
