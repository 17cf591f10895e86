#include "search/replanning/kept_tables.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "core/equal_blocks.h"
#include "core/message_text.h"
#include "core/table_label.h"
#include "core/table_rules.h"
#include "neuroshard/error.h"
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
  TableKeeper(const Backend& backend, const Task& task, const RunningPlan& running)
      : backend_(backend),
        task_(task),
        running_(running),
        holders_(task, running),
        blocks_(running_blocks(running)) {
    kept_.fixed.shards.resize(static_cast<std::size_t>(task.devices));
  }

  std::optional<KeptTables> run() {
    const auto before = running_tables(task_, running_.task);
    std::vector<std::uint32_t> fixed;
    PartWidths parts;
    for (std::uint32_t t = 0; t < before.size(); ++t) {
      if (!before[t]) continue;
      const auto running = static_cast<std::uint32_t>(*before[t]);
      if (may_stay_replicated(t, running)) {
        add_replica(t, running);
        fixed.push_back(t);
      } else if (blocks_.row_wise.contains(running) &&
                 may_be_cut(task_, task_.tables[t], task_.devices)) {
        add_blocks_of(whole_slice(t), 0, task_.devices, running);
        fixed.push_back(t);
      } else if (blocks_.on_nodes.contains(running) && keep_on_nodes(t, running)) {
        fixed.push_back(t);
      } else if (std::vector<int> widths = part_widths(task_, t, holders_.slices(running),
                                                       running_.task.tables[running].rows);
                 widths.size() > 1) {
        parts[t] = std::move(widths);
      }
    }
    if (fixed.empty() && parts.empty() && blocks_.row_wise.empty() && blocks_.on_nodes.empty() &&
        running_.plan.replicas.empty()) {
      return std::nullopt;
    }
    for (const TableMove& move : kept_.moves) kept_.moved_bytes += move.bytes;
    const DeviceLoads loads = loads_of_devices(backend_, task_, kept_.fixed);
    const bool all_kept = fixed.size() == task_.tables.size();
    if (all_kept ? !has_room_for(task_, loads) : !has_room_beside(task_, loads)) {
      throw Error("the tables that the running plan replicates or cuts by rows need " +
                  format_bytes(loads.most_bytes()) + " on every device, but one has room for " +
                  format_bytes(std::ranges::min(rooms_bytes(task_))) + "; plan the task anew");
    }
    const PartialTask rest = task_without(task_, fixed, loads);
    kept_.rest = with_parts(rest, parts);
    if (kept_.rest.task.groups.size() > kMostGroupsOfParts) {
      std::erase_if(parts,
                    [&](const auto& part) { return is_in_group(task_, part.first, Keep::kApart); });
      kept_.rest = with_parts(rest, parts);
    }
    PartWidths running_parts;
    for (const auto& [table, widths] : parts) {
      running_parts[static_cast<std::uint32_t>(*before[table])] = widths;
    }
    add_running_rest(running_parts, before);
    return std::move(kept_);
  }

 private:
  [[nodiscard]] bool may_stay_replicated(std::uint32_t t, std::uint32_t running) const {
    return holders_.is_replicated(running) &&
           may_be_sharded(task_, task_.tables[t], ShardingKind::kReplicate);
  }

  [[nodiscard]] TableSlice whole_slice(std::uint32_t t) const {
    const Table& table = task_.tables[t];
    return {.table = static_cast<int>(t),
            .first_column = 0,
            .dim = table.dim,
            .first_row = 0,
            .rows = table.rows};
  }

  void add_replica(std::uint32_t t, std::uint32_t running) {
    kept_.fixed.replicas.push_back(static_cast<int>(t));
    for (int device = 0; device < task_.devices; ++device) {
      holders_.add_moves(whole_slice(t), device, running, kept_.moves);
    }
  }

  /// The columns of `slice` in equal blocks on `group` devices.
  void add_blocks_of(const TableSlice& slice, int first_device, int group, std::uint32_t running) {
    const std::size_t first = kept_.fixed.slices.size();
    add_blocks(kept_.fixed, task_, slice, first_device, group);
    for (std::size_t i = first; i < kept_.fixed.slices.size(); ++i) {
      holders_.add_moves(kept_.fixed.slices[i], first_device + static_cast<int>(i - first), running,
                         kept_.moves);
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
           table.dim / static_cast<int>(slices) >= rules.min_width;
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
      TableSlice slice = whole_slice(t);
      slice.first_column = of_columns.first_column;
      slice.dim = of_columns.dim;
      bytes_of_nodes_[static_cast<std::size_t>(*node)] += slice_bytes(task_, slice);
      add_blocks_of(slice, *node * group, group, running);
    }
    return true;
  }

  /// The running plan of what is not replicated or in row blocks. `before`: of each table of the
  /// new task, the running one.
  void add_running_rest(const PartWidths& parts,
                        std::span<const std::optional<std::size_t>> before) {
    std::vector<std::uint32_t> left_out(blocks_.row_wise.begin(), blocks_.row_wise.end());
    for (const auto& [table, blocks] : blocks_.on_nodes) left_out.push_back(table);
    left_out.insert(left_out.end(), running_.plan.replicas.begin(), running_.plan.replicas.end());
    std::ranges::sort(left_out);
    PartialTask others = task_without(running_.task, left_out);
    // What runs need not keep them.
    others.task.groups.clear();
    for (Table& table : others.task.tables) table.rules = {};
    others = with_parts(std::move(others), parts);
    for (std::size_t i = 0; i < kept_.rest.tables.size(); ++i) {
      std::optional<std::size_t>& of = kept_.running_tables.emplace_back();
      const std::optional<std::size_t> running = before[kept_.rest.tables[i]];
      if (!running || std::ranges::binary_search(left_out, *running)) continue;
      of = table_at(others, *running,
                    kept_.rest.first_columns.empty() ? 0 : kept_.rest.first_columns[i]);
    }
    RunningPlan& rest = kept_.running;
    rest.lost_devices = running_.lost_devices;
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
  RunningHolders holders_;
  RunningBlocks blocks_;
  std::vector<std::int64_t> bytes_of_nodes_;  ///< Of tables on nodes, in the new task.
  KeptTables kept_;
};

}  // namespace

std::optional<KeptTables> keep_tables(const Backend& backend, const Task& task,
                                      const RunningPlan& running) {
  return TableKeeper(backend, task, running).run();
}

void require_columns(const Task& task, const Plan& fixed) {
  const auto is_fixed = [&](int t) {
    return std::ranges::binary_search(fixed.replicas, t) ||
           std::ranges::any_of(fixed.slices,
                               [&](const TableSlice& slice) { return slice.table == t; });
  };
  for (int t = 0; std::cmp_less(t, task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    if (may_be_in_columns(task, table) || is_fixed(t)) continue;
    throw Error(label_of(task, t) + " may neither be whole nor in slices of columns" +
                rules_text(table.rules) +
                ", but re-planning makes no row blocks and replicates no tables anew; plan the "
                "task anew, or loosen the rule kinds");
  }
}

ReplanResult with_kept_tables(const Backend& backend, const Task& task, const KeptTables& kept,
                              ReplanResult of_rest) {
  ReplanResult result = std::move(of_rest);
  result.must_move_bytes += kept.moved_bytes;
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
  std::ranges::sort(result.moves, {}, [](const TableMove& move) {
    return std::tuple(move.to, move.columns.table, move.columns.first_column);
  });
  result.moved_bytes += kept.moved_bytes;
  return result;
}

}  // namespace neuroshard
