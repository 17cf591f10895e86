#include "search/replanning/kept_tables.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "core/equal_blocks.h"
#include "core/message_text.h"
#include "core/table_label.h"
#include "core/table_rules.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "search/parts/device_loads.h"
#include "search/parts/even_blocks.h"
#include "search/replanning/running_blocks.h"
#include "search/residency.h"

namespace neuroshard {
namespace {

/// Widths of the parts of tables, from the first column on.
using PartWidths = std::map<std::uint32_t, std::vector<int>>;

/// Groups that keep tables apart are one for each two of their parts. With more than so many of
/// them, tables of groups are no parts.
constexpr std::size_t kMostGroupsOfParts = 2000;

bool is_in_group(const Task& task, std::uint32_t table, Keep keep) {
  return std::ranges::any_of(task.groups, [&](const TableGroup& group) {
    return group.keep == keep &&
           std::ranges::find(group.tables, static_cast<int>(table)) != group.tables.end();
  });
}

/// A slice of the running plan, and the device of the new task that has it.
struct RunningSlice {
  TableSlice slice;
  std::optional<std::uint32_t> device;  ///< Nothing: it is lost.
};

/// Takes the running plan and the new task apart.
class TableKeeper {
 public:
  TableKeeper(const Backend& backend, const Task& task, const RunningPlan& running)
      : backend_(backend),
        task_(task),
        running_(running),
        survivors_(surviving_devices(task, running)),
        blocks_(running_blocks(running)) {
    kept_.fixed.shards.resize(static_cast<std::size_t>(task.devices));
    slices_.resize(running.task.tables.size());
    const auto by_device = slices_by_device(running.plan);
    for (std::size_t device = 0; device < by_device.size(); ++device) {
      for (const TableSlice& slice : by_device[device]) {
        slices_[static_cast<std::size_t>(slice.table)].push_back({slice, survivors_[device]});
      }
    }
    for (std::vector<RunningSlice>& slices : slices_) {
      std::ranges::sort(slices, {}, [](const RunningSlice& one) {
        return std::tuple(one.slice.first_row, one.slice.first_column);
      });
    }
  }

  std::optional<KeptTables> run() {
    const auto before = running_tables(task_, running_.task);
    std::vector<std::uint32_t> fixed;
    PartWidths parts;
    for (std::uint32_t t = 0; t < before.size(); ++t) {
      if (!before[t]) continue;
      const auto running = static_cast<std::uint32_t>(*before[t]);
      if (may_stay_replicated(t, running)) {
        kept_.fixed.replicas.push_back(static_cast<int>(t));
        add_moves_of_replica(static_cast<int>(t), running_.task.tables[running].rows);
        fixed.push_back(t);
      } else if (blocks_.row_wise.contains(running) &&
                 may_be_cut(task_, task_.tables[t], task_.devices)) {
        keep_row_wise(static_cast<int>(t), running);
        fixed.push_back(t);
      } else if (blocks_.on_nodes.contains(running) &&
                 keep_on_nodes(static_cast<int>(t), running)) {
        fixed.push_back(t);
      } else if (std::vector<int> widths = part_widths(t, running); widths.size() > 1) {
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
    return std::ranges::binary_search(running_.plan.replicas, static_cast<int>(running)) &&
           may_be_sharded(task_, task_.tables[t], ShardingKind::kReplicate);
  }

  /// Widths of the parts that KeptTables makes of a table; one or none: it stays one table.
  [[nodiscard]] std::vector<int> part_widths(std::uint32_t t, std::uint32_t running) const {
    const TableRules& rules = task_.tables[t].rules;
    if (rules.no_split || !rules.allow(ShardingKind::kColumn) ||
        is_in_group(task_, t, Keep::kTogether)) {
      return {};
    }
    std::vector<TableSlice> slices;
    std::vector<int> widths;
    std::vector<int> of_devices;  // Neighbours on one device are one.
    std::optional<std::uint32_t> device;
    for (const RunningSlice& one : slices_[running]) {
      if (is_row_block(running_.task, one.slice)) return {};
      slices.push_back(one.slice);
      widths.push_back(one.slice.dim);
      if (of_devices.empty() || one.device != device) of_devices.push_back(0);
      of_devices.back() += one.slice.dim;
      device = one.device;
    }
    if (slices.empty() || halvings_of({.slices = std::move(slices), .shards = {}})) return {};
    const auto break_rules = [&] {
      return std::ranges::min(widths) < rules.min_width ||
             (rules.max_slices > 0 && std::cmp_greater(widths.size(), rules.max_slices));
    };
    if (break_rules()) widths = std::move(of_devices);
    while (widths.size() > 1 && break_rules()) {
      const auto narrowest = std::ranges::min_element(widths);
      const bool last = narrowest + 1 == widths.end();
      const auto next = last || (narrowest != widths.begin() && narrowest[-1] < narrowest[1])
                            ? narrowest - 1
                            : narrowest + 1;
      *next += *narrowest;
      widths.erase(narrowest);
    }
    return widths;
  }

  /// Devices that have been added get all of a table, the others its new rows.
  void add_moves_of_replica(int table, std::int64_t rows_before) {
    const Table& of = task_.tables[static_cast<std::size_t>(table)];
    const TableSlice whole{table, 0, of.dim, 0, of.rows};
    const int devices_before =
        running_.task.devices - static_cast<int>(running_.lost_devices.size());
    for (int device = 0; device < task_.devices; ++device) {
      const bool added = device >= devices_before;
      const std::int64_t rows = added ? of.rows : std::max<std::int64_t>(0, of.rows - rows_before);
      // All have the same rows, so the first one that is left can send them; new ones nobody has.
      add_move(whole, added && devices_before > 0 ? 0 : -1, device, rows);
    }
  }

  /// So many rows of the columns of `slice`.
  void add_move(const TableSlice& slice, int from, int to, std::int64_t rows) {
    if (rows <= 0) return;
    const RowBytes row = stored_bytes(task_.tables[static_cast<std::size_t>(slice.table)].memory);
    kept_.moves.push_back(
        {.columns = {.table = slice.table, .first_column = slice.first_column, .dim = slice.dim},
         .from = from,
         .to = to,
         .bytes = rows * (row.per_column * slice.dim + row.per_row)});
  }

  /// Adds the columns of `slice` in equal blocks on `group` devices; each of them is sent the rows
  /// that it did not have. `holders` had blocks of `rows_before` rows, as equal.
  void keep_blocks(const TableSlice& slice, int first_device, int group, std::int64_t rows_before,
                   std::span<const std::optional<std::uint32_t>> holders) {
    const auto first = static_cast<std::ptrdiff_t>(kept_.fixed.slices.size());
    add_blocks(kept_.fixed, task_, slice, first_device, group);
    const std::int64_t block_before = rows_of_block(rows_before, static_cast<int>(holders.size()));
    int to = first_device;
    for (auto block = kept_.fixed.slices.begin() + first; block != kept_.fixed.slices.end();
         ++block, ++to) {
      std::int64_t missing = block->rows;  // Of these, rows that no device that is left has.
      for (std::size_t holder = 0; holder < holders.size(); ++holder) {
        const std::int64_t held_from = static_cast<std::int64_t>(holder) * block_before;
        const std::int64_t held_to = std::min(held_from + block_before, rows_before);
        const std::int64_t rows = std::min(held_to, block->first_row + block->rows) -
                                  std::max(held_from, block->first_row);
        if (rows <= 0 || !holders[holder]) continue;
        missing -= rows;
        const int from = static_cast<int>(*holders[holder]);
        if (from != to) add_move(slice, from, to, rows);
      }
      add_move(slice, -1, to, missing);
    }
  }

  /// Equal blocks on all devices.
  void keep_row_wise(int table, std::uint32_t running) {
    const Table& of = task_.tables[static_cast<std::size_t>(table)];
    keep_blocks({table, 0, of.dim, 0, of.rows}, 0, task_.devices,
                running_.task.tables[running].rows, survivors_);
  }

  /// The devices that are left of a node of the running plan.
  [[nodiscard]] std::span<const std::optional<std::uint32_t>> left_of_node(int node) const {
    const auto group = static_cast<std::size_t>(block_groups(running_.task).back());
    return std::span(survivors_).subspan(static_cast<std::size_t>(node) * group, group);
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
  bool keep_on_nodes(int table, std::uint32_t running) {
    const std::vector<int> groups = block_groups(task_);
    if (groups.size() < 2) return false;
    const int group = groups.back();
    const Table& of = task_.tables[static_cast<std::size_t>(table)];
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
      const TableSlice slice{table, of_columns.first_column, of_columns.dim, 0, of.rows};
      bytes_of_nodes_[static_cast<std::size_t>(*node)] += slice_bytes(task_, slice);
      keep_blocks(slice, *node * group, group, running_.task.tables[running].rows, holders);
    }
    return true;
  }

  static PartialTask with_parts(PartialTask part, const PartWidths& widths) {
    if (widths.empty()) return part;
    std::vector<Table> tables;
    std::vector<std::uint32_t> listed;
    std::vector<int> first_parts;
    for (std::size_t i = 0; i < part.tables.size(); ++i) {
      first_parts.push_back(static_cast<int>(tables.size()));
      const auto cut = widths.find(part.tables[i]);
      const Table& table = part.task.tables[i];
      const std::vector<int> all = {table.dim};
      const std::vector<int>& of_table = cut == widths.end() ? all : cut->second;
      int column = 0;
      for (const int width : of_table) {
        Table& one = tables.emplace_back(table);
        one.dim = width;
        if (of_table.size() > 1) {
          one.name +=
              " columns " + std::to_string(column) + " to " + std::to_string(column + width - 1);
          one.rules.max_slices /= static_cast<int>(of_table.size());
        }
        listed.push_back(part.tables[i]);
        part.first_columns.push_back(column);
        column += width;
      }
    }
    first_parts.push_back(static_cast<int>(tables.size()));
    part.task.groups = groups_of_parts(part.task.groups, first_parts);
    part.task.tables = std::move(tables);
    part.tables = std::move(listed);
    return part;
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

  /// The table of `part` that is `whole`, or the part of it that has this column.
  static std::size_t table_at(const PartialTask& part, std::size_t whole, int column) {
    auto at = static_cast<std::size_t>(std::ranges::lower_bound(part.tables, whole) -
                                       part.tables.begin());
    while (!part.first_columns.empty() &&
           column >= part.first_columns[at] + part.task.tables[at].dim) {
      ++at;
    }
    return at;
  }

  const Backend& backend_;
  const Task& task_;
  const RunningPlan& running_;
  std::vector<std::optional<std::uint32_t>> survivors_;
  std::vector<std::vector<RunningSlice>> slices_;  ///< Of each running table, by row and column.
  RunningBlocks blocks_;
  std::vector<std::int64_t> bytes_of_nodes_;  ///< Of tables on nodes, in the new task.
  KeptTables kept_;
};

/// `plan`, of tables some of which are parts in `rest`, with neighbouring slices of these on one
/// device as one.
Plan with_neighbours_joined(const Plan& plan, const PartialTask& rest) {
  const std::set<int> in_parts = tables_in_parts(rest);
  Plan joined{.slices = {}, .shards = {}, .replicas = plan.replicas};
  for (std::vector<TableSlice>& slices : slices_by_device(plan)) {
    std::ranges::stable_sort(slices, {}, [&](const TableSlice& slice) {
      return in_parts.contains(slice.table) ? std::pair(slice.table, slice.first_column)
                                            : std::pair(-1, 0);
    });
    std::vector<int>& of_device = joined.shards.emplace_back();
    for (const TableSlice& slice : slices) {
      if (!of_device.empty() && in_parts.contains(slice.table)) {
        TableSlice& last = joined.slices.back();
        if (last.table == slice.table && last.first_column + last.dim == slice.first_column) {
          last.dim += slice.dim;
          continue;
        }
      }
      of_device.push_back(static_cast<int>(joined.slices.size()));
      joined.slices.push_back(slice);
    }
  }
  return joined;
}

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
