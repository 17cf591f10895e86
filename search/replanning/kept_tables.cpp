#include "search/replanning/kept_tables.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include "core/plans/equal_blocks.h"
#include "core/tables/table_rules.h"
#include "neuroshard/simulator.h"
#include "search/parts/device_loads.h"
#include "search/parts/even_blocks.h"
#include "search/replanning/running_blocks.h"
#include "search/replanning/running_holders.h"
#include "search/replanning/running_parts.h"
#include "search/residency.h"

namespace neuroshard {
namespace {

/// Groups that keep tables apart are one for each two of their parts. With more than so many of
/// them, tables of groups are no parts.
constexpr std::size_t kMostGroupsOfParts = 2000;

/// Takes the running plan and the new task apart.
class TableKeeper {
 public:
  TableKeeper(const Backend& backend, const Task& task, const RunningPlan& running,
              const WantedKinds& wanted)
      : backend_(backend),
        task_(task),
        running_(running),
        wanted_(wanted),
        whole_(whole_tables(task)),
        before_(running_tables(task, running.task)),
        holders_(task, running),
        blocks_(running_blocks(running)) {
    kept_.fixed.shards.resize(static_cast<std::size_t>(task.devices));
  }

  KeptTables run() {
    std::vector<std::uint32_t> fixed;
    PartWidths parts;
    for (std::uint32_t t = 0; t < before_.size(); ++t) {
      if (fix(t)) {
        fixed.push_back(t);
        continue;
      }
      kept_.missing_bytes += holders_.missing_bytes(whole_[t], before_[t]);
      if (before_[t] && runs_in_blocks(*before_[t])) {
        kept_.out_of_blocks.push_back(t);
      }
      if (std::vector<int> widths = widths_of_parts(t); widths.size() > 1) {
        parts[t] = std::move(widths);
      }
    }
    kept_.moved_bytes = moved_bytes(kept_.moves);
    kept_.missing_bytes += kept_.moved_bytes;
    const DeviceLoads loads = even_ ? loads_of_devices(backend_, task_, kept_.fixed)
                                    : loads_of_each_device(backend_, task_, kept_.fixed);
    kept_.device_bytes = loads.most_bytes();
    const bool all_fixed = fixed.size() == task_.tables.size();
    kept_.has_room = all_fixed ? has_room_for(task_, loads) : has_room_beside(task_, loads);
    if (!kept_.has_room) return std::move(kept_);
    const PartialTask rest = task_without(task_, fixed, loads);
    kept_.rest = with_parts(rest, parts);
    if (kept_.rest.task.groups.size() > kMostGroupsOfParts) {
      std::erase_if(parts,
                    [&](const auto& part) { return is_in_group(task_, part.first, Keep::kApart); });
      kept_.rest = with_parts(rest, parts);
    }
    PartWidths running_parts;
    for (const auto& [table, widths] : parts) {
      running_parts[static_cast<std::uint32_t>(*before_[table])] = widths;
    }
    add_running_rest(running_parts, fixed);
    return std::move(kept_);
  }

 private:
  [[nodiscard]] bool runs_in_blocks(std::size_t running) const {
    return std::ranges::any_of(holders_.slices(running), [&](const RunningSlice& held) {
      return is_row_block(running_.task, held.slice);
    });
  }

  /// Adds the table to what is fixed, if it is to be replicated or cut by rows.
  bool fix(std::uint32_t t) {
    if (wanted_[t]) {
      if (*wanted_[t] == ShardingKind::kColumn) return false;
      if (*wanted_[t] == ShardingKind::kReplicate) {
        add_replica(t);
      } else {
        add_blocks_of(whole_[t], 0, task_.devices);
      }
      return true;
    }
    if (!before_[t]) return false;
    const auto running = static_cast<std::uint32_t>(*before_[t]);
    if (holders_.is_replicated(running)) {
      if (!may_be_sharded(task_, task_.tables[t], ShardingKind::kReplicate)) return false;
      add_replica(t);
      return true;
    }
    if (blocks_.row_wise.contains(running)) {
      if (!may_be_cut(task_, task_.tables[t], task_.devices)) return false;
      add_blocks_of(whole_[t], 0, task_.devices);
      return true;
    }
    if (blocks_.on_nodes.contains(running)) return keep_on_nodes(t, running);
    return keep_blocks_in_place(t, running);
  }

  [[nodiscard]] std::vector<int> widths_of_parts(std::uint32_t t) const {
    if (!before_[t]) return {};
    return part_widths(task_, t, holders_.slices(*before_[t]),
                       running_.task.tables[*before_[t]].rows);
  }

  void add_replica(std::uint32_t t) {
    kept_.fixed.replicas.push_back(static_cast<int>(t));
    for (int device = 0; device < task_.devices; ++device) {
      holders_.add_moves(whole_[t], device, before_[t], kept_.moves);
    }
  }

  /// The columns of `slice` in equal blocks on `group` devices.
  void add_blocks_of(const TableSlice& slice, int first_device, int group) {
    const std::size_t first = kept_.fixed.slices.size();
    add_blocks(kept_.fixed, task_, slice, first_device, group);
    for (std::size_t i = first; i < kept_.fixed.slices.size(); ++i) {
      holders_.add_moves(kept_.fixed.slices[i], first_device + static_cast<int>(i - first),
                         before_[static_cast<std::size_t>(slice.table)], kept_.moves);
    }
  }

  /// The devices that are left of a node of the running plan.
  [[nodiscard]] std::span<const std::optional<std::uint32_t>> left_of_node(int node) const {
    const auto group = static_cast<std::size_t>(block_groups(running_.task).back());
    return holders_.survivors().subspan(static_cast<std::size_t>(node) * group, group);
  }

  /// Nodes of the new task whose devices may all hold blocks of `table`.
  [[nodiscard]] std::vector<int> nodes_for(const Table& table, int group) const {
    const std::vector<bool> allowed = allowed_devices(table.rules, task_);
    std::vector<int> nodes;
    for (int first = 0; first < task_.devices; first += group) {
      if (std::all_of(allowed.begin() + first, allowed.begin() + first + group, std::identity{})) {
        nodes.push_back(first / group);
      }
    }
    return nodes;
  }

  [[nodiscard]] bool may_stay_on_nodes(const Table& table, int group, std::size_t slices) const {
    if (!may_be_cut(task_, table, group)) return false;
    const TableRules& rules = table.rules;
    if (slices == 1) return true;  // Of which a grid may be made.
    const auto blocks = slices * static_cast<std::size_t>(count_of_blocks(table.rows, group));
    return may_be_sharded(task_, table, ShardingKind::kGrid) && !rules.no_split &&
           (rules.max_slices == 0 || std::cmp_less_equal(blocks, rules.max_slices)) &&
           table.dim / static_cast<int>(slices) >= least_width(table);
  }

  /// Equal blocks on nodes: those that they are on, or, where a device of these is lost, those that
  /// have least of such tables. False if the new task does not let them be so.
  bool keep_on_nodes(std::uint32_t t, std::uint32_t running) {
    const std::vector<int> groups = block_groups(task_);
    if (groups.size() < 2) return false;
    const int group = groups.back();
    const Table& of = task_.tables[t];
    const std::vector<ColumnsInBlocks>& blocks = blocks_.on_nodes.at(running);
    const std::vector<int> nodes = nodes_for(of, group);
    if (nodes.empty() || !may_stay_on_nodes(of, group, blocks.size())) return false;
    bytes_of_nodes_.resize(static_cast<std::size_t>(task_.devices / group));
    for (const ColumnsInBlocks& of_columns : blocks) {
      const auto holders = left_of_node(of_columns.node);
      const auto is_on = [&](int node) {
        for (std::size_t i = 0; i < holders.size(); ++i) {
          const auto device = static_cast<std::uint32_t>(node * group) + i;
          if (std::cmp_not_equal(holders.size(), group) || holders[i] != device) return false;
        }
        return true;
      };
      auto node = std::ranges::find_if(nodes, is_on);
      if (node == nodes.end()) {
        node = std::ranges::min_element(
            nodes, {}, [&](int one) { return bytes_of_nodes_[static_cast<std::size_t>(one)]; });
      }
      TableSlice slice = whole_[t];
      slice.first_column = of_columns.first_column;
      slice.dim = of_columns.dim;
      bytes_of_nodes_[static_cast<std::size_t>(*node)] += slice_bytes(task_, slice);
      add_blocks_of(slice, *node * group, group);
    }
    even_ = false;
    return true;
  }

  /// Any blocks of rows, if they may all stay on their devices; the last ones get the rows that the
  /// table has grown by. False if the table has none, or they may not.
  bool keep_blocks_in_place(std::uint32_t t, std::uint32_t running) {
    const std::span<const RunningSlice> slices = holders_.slices(running);
    const Table& before = running_.task.tables[running];
    const Table& now = task_.tables[t];
    const std::vector<bool> allowed = allowed_devices(now.rules, task_);
    const auto may_stay = [&](const RunningSlice& one) {
      return one.device && allowed[*one.device];
    };
    const bool any_block = std::ranges::any_of(
        slices, [&](const RunningSlice& one) { return is_row_block(running_.task, one.slice); });
    if (!any_block || now.rows < before.rows || now.rules.kinds != before.rules.kinds ||
        now.rules.limit_splits() || !std::ranges::all_of(slices, may_stay)) {
      return false;
    }
    for (const RunningSlice& one : slices) {
      TableSlice slice = one.slice;
      slice.table = static_cast<int>(t);
      if (slice.first_row + slice.rows == before.rows) slice.rows = now.rows - slice.first_row;
      kept_.fixed.shards[*one.device].push_back(static_cast<int>(kept_.fixed.slices.size()));
      kept_.fixed.slices.push_back(slice);
      holders_.add_moves(slice, static_cast<int>(*one.device), before_[t], kept_.moves);
    }
    even_ = false;
    return true;
  }

  /// The running plan of the rest. Of what it has in row blocks, no columns are held.
  void add_running_rest(const PartWidths& parts, const std::vector<std::uint32_t>& fixed) {
    std::vector<std::uint32_t> left_out(blocks_.row_wise.begin(), blocks_.row_wise.end());
    for (const auto& [table, blocks] : blocks_.on_nodes) left_out.push_back(table);
    for (const std::uint32_t t : fixed) {
      if (before_[t]) left_out.push_back(static_cast<std::uint32_t>(*before_[t]));
    }
    std::ranges::sort(left_out);
    left_out.erase(std::unique(left_out.begin(), left_out.end()), left_out.end());
    PartialTask others = task_without(running_.task, left_out);
    // What runs need not keep them.
    others.task.groups.clear();
    for (Table& table : others.task.tables) table.rules = {};
    others = with_parts(std::move(others), parts);
    for (std::size_t i = 0; i < kept_.rest.tables.size(); ++i) {
      std::optional<std::size_t>& of = kept_.running_tables.emplace_back();
      const std::optional<std::size_t> running = before_[kept_.rest.tables[i]];
      if (!running) continue;
      if (std::ranges::binary_search(left_out, *running)) {
        const TableSlice& whole = whole_[kept_.rest.tables[i]];
        kept_.taken_for_new_bytes +=
            holders_.missing_bytes(whole, std::nullopt) - holders_.missing_bytes(whole, running);
        continue;
      }
      of = table_at(others, *running,
                    kept_.rest.first_columns.empty() ? 0 : kept_.rest.first_columns[i]);
    }
    RunningPlan& rest = kept_.running;
    rest.lost_devices = running_.lost_devices;
    for (const int t : running_.plan.replicas) {
      if (std::ranges::binary_search(left_out, static_cast<std::uint32_t>(t))) continue;
      rest.plan.replicas.push_back(
          static_cast<int>(table_at(others, static_cast<std::size_t>(t), 0)));
    }
    const auto by_device = slices_by_device(running_.plan);
    for (const std::vector<TableSlice>& shard : by_device) {
      std::vector<int>& of_device = rest.plan.shards.emplace_back();
      for (TableSlice slice : shard) {
        if (std::ranges::binary_search(left_out, static_cast<std::uint32_t>(slice.table))) continue;
        const std::size_t at =
            table_at(others, static_cast<std::uint32_t>(slice.table), slice.first_column);
        if (!others.first_columns.empty()) slice.first_column -= others.first_columns[at];
        slice.table = static_cast<int>(at);
        of_device.push_back(static_cast<int>(rest.plan.slices.size()));
        rest.plan.slices.push_back(slice);
      }
    }
    rest.task = std::move(others.task);
  }

  const Backend& backend_;
  const Task& task_;
  const RunningPlan& running_;
  const WantedKinds& wanted_;
  std::vector<TableSlice> whole_;
  std::vector<std::optional<std::size_t>> before_;  ///< Of each table, the running one.
  RunningHolders holders_;
  RunningBlocks blocks_;
  std::vector<std::int64_t> bytes_of_nodes_;  ///< Of tables on nodes, in the new task.
  bool even_ = true;  ///< False: `fixed` may leave some devices full and others empty.
  KeptTables kept_;
};

}  // namespace

KeptTables keep_tables(const Backend& backend, const Task& task, const RunningPlan& running,
                       const WantedKinds& wanted) {
  return TableKeeper(backend, task, running, wanted).run();
}

bool can_be_laid_out(const Task& task, const KeptTables& kept) {
  const Plan& fixed = kept.fixed;
  std::vector<bool> is_fixed(task.tables.size(), false);
  for (const int t : fixed.replicas) is_fixed[static_cast<std::size_t>(t)] = true;
  for (const TableSlice& slice : fixed.slices) {
    is_fixed[static_cast<std::size_t>(slice.table)] = true;
  }
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    if (!is_fixed[t] && !may_be_in_columns(task, task.tables[t])) return false;
  }
  return kept.has_room &&
         std::ranges::none_of(kept.running.plan.slices, [&](const TableSlice& slice) {
           return is_row_block(kept.running.task, slice);
         });
}

ReplanResult with_kept_tables(const Backend& backend, const Task& task, const KeptTables& kept,
                              ReplanResult of_rest) {
  ReplanResult result = std::move(of_rest);
  if (!result.result.plan) {
    std::optional<Infeasibility>& why = result.result.infeasible;
    if (why && why->table >= 0) {
      why->table = static_cast<int>(kept.rest.tables[static_cast<std::size_t>(why->table)]);
    }
    return result;
  }
  Plan plan = kept.fixed;
  add_part(plan, kept.rest, *result.result.plan);
  result.result.cost = simulate(backend, task, plan);
  if (Plan joined = with_neighbours_joined(plan, kept.rest);
      joined.slices.size() < plan.slices.size()) {
    PlanCost of_joined = simulate(backend, task, joined);
    if (of_joined.cost_ms <= result.result.cost.cost_ms) {
      plan = std::move(joined);
      result.result.cost = std::move(of_joined);
    }
  }
  result.result.plan = std::move(plan);
  for (TableMove& move : result.moves) {
    const auto t = static_cast<std::size_t>(move.columns.table);
    move.columns.table = static_cast<int>(kept.rest.tables[t]);
    if (!kept.rest.first_columns.empty()) move.columns.first_column += kept.rest.first_columns[t];
  }
  std::ranges::copy(kept.moves, std::back_inserter(result.moves));
  sort_moves(result.moves);
  result.moved_bytes += kept.moved_bytes;
  return result;
}

}  // namespace neuroshard
