#include "search/replanning/kept_tables.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
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
#include "search/residency.h"

namespace neuroshard {
namespace {

/// Widths of the parts of tables, from the first column on.
using PartWidths = std::map<std::uint32_t, std::vector<int>>;

/// Takes the running plan and the new task apart.
class TableKeeper {
 public:
  TableKeeper(const Backend& backend, const Task& task, const RunningPlan& running)
      : backend_(backend),
        task_(task),
        running_(running),
        survivors_(surviving_devices(task, running)) {
    kept_.fixed.shards.resize(static_cast<std::size_t>(task.devices));
    slices_.resize(running.task.tables.size());
    for (const TableSlice& slice : running.plan.slices) {
      slices_[static_cast<std::size_t>(slice.table)].push_back(slice);
    }
    for (std::vector<TableSlice>& slices : slices_) {
      std::ranges::sort(slices, {}, [](const TableSlice& slice) {
        return std::tuple(slice.first_row, slice.first_column);
      });
    }
    find_row_wise();
  }

  std::optional<KeptTables> run() {
    const auto before = running_tables(task_, running_.task);
    std::vector<std::uint32_t> fixed;
    PartWidths parts;
    PartWidths running_parts;
    for (std::uint32_t t = 0; t < before.size(); ++t) {
      if (!before[t]) continue;
      const auto running = static_cast<std::uint32_t>(*before[t]);
      if (may_stay_replicated(t, running)) {
        kept_.fixed.replicas.push_back(static_cast<int>(t));
        add_moves_of_replica(static_cast<int>(t), running_.task.tables[running].rows);
        fixed.push_back(t);
      } else if (row_wise_.contains(running) && may_be_cut(task_, task_.tables[t], task_.devices)) {
        keep_row_wise(static_cast<int>(t), running);
        fixed.push_back(t);
      } else if (may_be_parts(t, running)) {
        for (const TableSlice& slice : slices_[running]) parts[t].push_back(slice.dim);
        running_parts[running] = parts[t];
      }
    }
    if (fixed.empty() && parts.empty() && row_wise_.empty() && running_.plan.replicas.empty()) {
      return std::nullopt;
    }
    for (const TableMove& move : kept_.moves) kept_.moved_bytes += move.bytes;
    const DeviceLoads loads = loads_of_devices(backend_, task_, kept_.fixed);
    if (!has_room_beside(task_, loads)) {
      throw Error("the tables that the running plan replicates or cuts row-wise need " +
                  format_bytes(loads.most_bytes()) + " on every device, but one has room for " +
                  format_bytes(std::ranges::min(rooms_bytes(task_))) + "; plan the task anew");
    }
    kept_.rest = with_parts(task_without(task_, fixed, loads), parts);
    kept_.running = running_rest(running_parts);
    return std::move(kept_);
  }

 private:
  /// Tables in equal blocks, one on each device in their order.
  void find_row_wise() {
    const auto by_device = slices_by_device(running_.plan);
    std::vector<int> even_blocks(slices_.size());
    for (std::size_t device = 0; device < by_device.size(); ++device) {
      for (const TableSlice& slice : by_device[device]) {
        const Table& table = running_.task.tables[static_cast<std::size_t>(slice.table)];
        const std::int64_t of_block = rows_of_block(table.rows, running_.task.devices);
        const std::int64_t first_row = static_cast<std::int64_t>(device) * of_block;
        const bool even = slice.dim == table.dim && slice.first_row == first_row &&
                          slice.rows == std::min(of_block, table.rows - first_row);
        even_blocks[static_cast<std::size_t>(slice.table)] += even ? 1 : 0;
      }
    }
    for (std::uint32_t t = 0; t < slices_.size(); ++t) {
      if (slices_[t].size() > 1 && std::cmp_equal(even_blocks[t], slices_[t].size()) &&
          is_row_block(running_.task, slices_[t].front())) {
        row_wise_.insert(t);
      }
    }
  }

  [[nodiscard]] bool may_stay_replicated(std::uint32_t t, std::uint32_t running) const {
    return std::ranges::binary_search(running_.plan.replicas, static_cast<int>(running)) &&
           may_be_sharded(task_, task_.tables[t], ShardingKind::kReplicate);
  }

  /// Columns that are not halves of halves ..., if rules let them be.
  [[nodiscard]] bool may_be_parts(std::uint32_t t, std::uint32_t running) const {
    const std::vector<TableSlice>& slices = slices_[running];
    const TableRules& rules = task_.tables[t].rules;
    const auto is_in = [&](const TableGroup& group) {
      return std::ranges::find(group.tables, static_cast<int>(t)) != group.tables.end();
    };
    if (std::ranges::any_of(task_.groups, is_in)) return false;
    const auto rows = running_.task.tables[running].rows;
    const bool columns =
        std::ranges::all_of(slices, [&](const TableSlice& slice) { return slice.rows == rows; });
    if (!columns || slices.size() < 2 || halvings_of({.slices = slices, .shards = {}}))
      return false;
    return !rules.no_split && rules.allow(ShardingKind::kColumn) &&
           (rules.max_slices == 0 || std::cmp_less_equal(slices.size(), rules.max_slices)) &&
           std::ranges::all_of(
               slices, [&](const TableSlice& slice) { return slice.dim >= rules.min_width; });
  }

  /// Devices that have been added get all of a table, the others its new rows.
  void add_moves_of_replica(int table, std::int64_t rows_before) {
    const Table& of = task_.tables[static_cast<std::size_t>(table)];
    const int devices_before =
        running_.task.devices - static_cast<int>(running_.lost_devices.size());
    for (int device = 0; device < task_.devices; ++device) {
      const bool added = device >= devices_before;
      const std::int64_t rows = added ? of.rows : std::max<std::int64_t>(0, of.rows - rows_before);
      // All have the same rows, so the first one that is left can send them; new ones nobody has.
      add_move(table, added && devices_before > 0 ? 0 : -1, device, rows);
    }
  }

  void add_move(int table, int from, int to, std::int64_t rows) {
    if (rows <= 0) return;
    const Table& of = task_.tables[static_cast<std::size_t>(table)];
    const RowBytes row = stored_bytes(of.memory);
    kept_.moves.push_back({.columns = {.table = table, .first_column = 0, .dim = of.dim},
                           .from = from,
                           .to = to,
                           .bytes = rows * (row.per_column * of.dim + row.per_row)});
  }

  /// Equal blocks on all devices; each is sent the rows that it did not have.
  void keep_row_wise(int table, std::uint32_t running) {
    const Table& of = task_.tables[static_cast<std::size_t>(table)];
    const auto first = static_cast<std::ptrdiff_t>(kept_.fixed.slices.size());
    add_blocks(kept_.fixed, task_, {table, 0, of.dim, 0, of.rows}, 0, task_.devices);
    const std::int64_t rows_before = running_.task.tables[running].rows;
    const std::int64_t block_before = rows_of_block(rows_before, running_.task.devices);
    int to = 0;
    for (auto block = kept_.fixed.slices.begin() + first; block != kept_.fixed.slices.end();
         ++block, ++to) {
      std::int64_t missing = block->rows;  // Of these, rows that no device that is left has.
      for (std::size_t device = 0; device < survivors_.size(); ++device) {
        const std::int64_t held_from = static_cast<std::int64_t>(device) * block_before;
        const std::int64_t held_to = std::min(held_from + block_before, rows_before);
        const std::int64_t rows = std::min(held_to, block->first_row + block->rows) -
                                  std::max(held_from, block->first_row);
        if (rows <= 0 || !survivors_[device]) continue;
        missing -= rows;
        const int from = static_cast<int>(*survivors_[device]);
        if (from != to) add_move(table, from, to, rows);
      }
      add_move(table, -1, to, missing);
    }
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
          // A name of its own, by which the part is known in the new task.
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

  /// The running plan of what is not replicated or row-wise.
  [[nodiscard]] RunningPlan running_rest(const PartWidths& parts) const {
    std::vector<std::uint32_t> left_out(row_wise_.begin(), row_wise_.end());
    left_out.insert(left_out.end(), running_.plan.replicas.begin(), running_.plan.replicas.end());
    std::ranges::sort(left_out);
    PartialTask others = task_without(running_.task, left_out);
    others.task.groups.clear();  // What runs need not keep them.
    others = with_parts(std::move(others), parts);
    RunningPlan rest{.task = {}, .plan = {}, .lost_devices = running_.lost_devices};
    const auto by_device = slices_by_device(running_.plan);
    for (const std::vector<TableSlice>& shard : by_device) {
      std::vector<int>& of_device = rest.plan.shards.emplace_back();
      for (TableSlice slice : shard) {
        if (std::ranges::binary_search(left_out, static_cast<std::uint32_t>(slice.table))) continue;
        // Its table, or the part of it that it lies in.
        auto at = static_cast<std::size_t>(
            std::ranges::lower_bound(others.tables, static_cast<std::uint32_t>(slice.table)) -
            others.tables.begin());
        while (!others.first_columns.empty() &&
               slice.first_column >= others.first_columns[at] + others.task.tables[at].dim) {
          ++at;
        }
        if (!others.first_columns.empty()) slice.first_column -= others.first_columns[at];
        slice.table = static_cast<int>(at);
        of_device.push_back(static_cast<int>(rest.plan.slices.size()));
        rest.plan.slices.push_back(slice);
      }
    }
    rest.task = std::move(others.task);
    return rest;
  }

  const Backend& backend_;
  const Task& task_;
  const RunningPlan& running_;
  std::vector<std::optional<std::uint32_t>> survivors_;
  std::vector<std::vector<TableSlice>> slices_;  ///< Of each running table, by row and column.
  std::set<std::uint32_t> row_wise_;             ///< Running tables.
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
  if (!result.result.plan) return result;
  Plan plan = kept.fixed;
  add_part(plan, kept.rest, *result.result.plan);
  result.result.cost = simulate(backend, task, plan);
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
