#include "search/tiny_tasks.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/error.h"
#include "neuroshard/plan.h"
#include "plain_table.h"
#include "search/random_rules.h"

namespace neuroshard::testing {
namespace {

/// Bytes that a table takes of each device, and whether it is there.
struct Holding {
  std::vector<std::int64_t> bytes;
  std::vector<bool> holds;
};

bool allows(const Table& table, ShardingKind kind) {
  return table.rules.kinds.empty() || std::ranges::count(table.rules.kinds, kind) > 0;
}

bool allows_device(const TableRules& rules, int device) {
  return (rules.devices.empty() || std::ranges::count(rules.devices, device) > 0) &&
         std::ranges::count(rules.not_devices, device) == 0;
}

/// Adds all that share out columns, at most one slice on a device.
void add_columns(const Task& task, const Table& table, std::vector<Holding>& holdings) {
  const auto devices = static_cast<std::size_t>(task.devices);
  const TableRules& rules = table.rules;
  std::vector<int> dims(devices, 0);
  const std::function<void(std::size_t, int)> from = [&](std::size_t d, int left) {
    if (d < devices) {
      for (dims[d] = 0; dims[d] <= left; dims[d] += kDimMultiple) from(d + 1, left - dims[d]);
      dims[d] = 0;
      return;
    }
    const auto slices = std::ranges::count_if(dims, [](int dim) { return dim > 0; });
    if (left > 0 || (rules.no_split && slices > 1)) return;
    if (rules.max_slices > 0 && slices > rules.max_slices) return;
    if (devices > 1 && !allows(table, ShardingKind::kColumn) &&
        (slices > 1 || !allows(table, ShardingKind::kTable)))
      return;
    Holding holding{std::vector<std::int64_t>(devices, 0), std::vector<bool>(devices, false)};
    for (std::size_t device = 0; device < devices; ++device) {
      const int dim = dims[device];
      if (dim == 0) continue;
      if (dim < std::min(rules.min_width, table.dim) ||
          !allows_device(rules, static_cast<int>(device)))
        return;
      holding.bytes[device] = slice_bytes(table, dim);
      holding.holds[device] = true;
    }
    holdings.push_back(std::move(holding));
  };
  from(0, table.dim);
}

/// All holdings of a table; the task has one node.
std::vector<Holding> holdings_of(const Task& task, std::size_t t) {
  const Table& table = task.tables[t];
  const auto devices = static_cast<std::size_t>(task.devices);
  std::vector<Holding> holdings;
  add_columns(task, table, holdings);
  const bool grouped = std::ranges::any_of(task.groups, [&](const TableGroup& group) {
    return std::ranges::count(group.tables, static_cast<int>(t)) > 0;
  });
  for (std::size_t d = 0; d < devices; ++d) {
    if (grouped || devices == 1 || !allows_device(table.rules, static_cast<int>(d)))
      return holdings;
  }
  const std::vector<bool> everywhere(devices, true);
  if (allows(table, ShardingKind::kReplicate)) {
    const std::int64_t bytes = replica_memory(task, static_cast<int>(t)).total_bytes();
    holdings.push_back({std::vector<std::int64_t>(devices, bytes), everywhere});
  }
  if (!allows(table, ShardingKind::kRow) && !allows(table, ShardingKind::kTableRow) &&
      !allows(table, ShardingKind::kGrid))
    return holdings;
  const std::int64_t of_block = (table.rows + task.devices - 1) / task.devices;
  Holding by_rows{std::vector<std::int64_t>(devices, 0), everywhere};
  int blocks = 0;
  for (std::int64_t row = 0; row < table.rows; row += of_block, ++blocks) {
    const std::int64_t rows = std::min(of_block, table.rows - row);
    by_rows.bytes[static_cast<std::size_t>(blocks)] =
        slice_bytes(task, {static_cast<int>(t), 0, table.dim, row, rows});
  }
  const int most = table.rules.no_split ? 1 : table.rules.max_slices;
  if (most == 0 || blocks <= most) holdings.push_back(std::move(by_rows));
  return holdings;
}

bool hold_as_grouped(const Task& task, const std::vector<const Holding*>& holdings) {
  for (const TableGroup& group : task.groups) {
    int holders = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
      const auto tables = std::ranges::count_if(
          group.tables, [&](int t) { return holdings[static_cast<std::size_t>(t)]->holds[d]; });
      holders += tables > 0 ? 1 : 0;
      if (group.keep == Keep::kApart && tables > 1) return false;
    }
    if (group.keep == Keep::kTogether && holders > 1) return false;
  }
  return true;
}

void add_rules(Table& table, int devices, Random& random) {
  TableRules& rules = table.rules;
  rules.no_split = random.below(5) == 0;
  if (random.below(3) == 0) {
    rules.min_width = 1 + static_cast<int>(random.below(static_cast<std::size_t>(table.dim)));
  }
  if (random.below(3) == 0) rules.max_slices = 1 + static_cast<int>(random.below(3));
  if (random.below(4) == 0) {
    for (int device = 0; device < devices; ++device) {
      if (random.below(2) == 0) rules.devices.push_back(device);
    }
  }
  if (random.below(3) != 0) return;
  for (const ShardingKind kind : all_sharding_kinds()) {
    if (random.below(2) == 0) rules.kinds.push_back(kind);
  }
}

}  // namespace

bool fits_somehow(const Task& task, bool columns_only) {
  std::vector<std::vector<Holding>> holdings;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    if (columns_only) {
      add_columns(task, task.tables[t], holdings.emplace_back());
    } else {
      holdings.push_back(holdings_of(task, t));
    }
  }
  std::vector<std::int64_t> rooms = rooms_bytes(task);
  std::vector<const Holding*> chosen;
  const std::function<bool()> go_on = [&] {
    if (chosen.size() == holdings.size()) return hold_as_grouped(task, chosen);
    for (const Holding& holding : holdings[chosen.size()]) {
      if (!std::ranges::equal(holding.bytes, rooms, std::ranges::less_equal{})) continue;
      for (std::size_t d = 0; d < rooms.size(); ++d) rooms[d] -= holding.bytes[d];
      chosen.push_back(&holding);
      const bool found = go_on();
      chosen.pop_back();
      for (std::size_t d = 0; d < rooms.size(); ++d) rooms[d] += holding.bytes[d];
      if (found) return true;
    }
    return false;
  };
  return go_on();
}

Task tiny_task_of_any_cuts(std::uint64_t seed) {
  Random random(seed, 61);
  Task task;
  task.devices = random.below(8) == 0 ? 1 : 2 + static_cast<int>(random.below(2));
  const std::size_t tables = 1 + random.below(3);
  const auto types = all_weight_types();
  const auto optimizers = all_optimizers();
  for (std::size_t t = 0; t < tables; ++t) {
    const bool few_rows = random.below(4) == 0;
    Table& table = task.tables.emplace_back(
        plain_table(1 + static_cast<std::int64_t>(random.below(few_rows ? 6 : 4000)),
                    4 * (1 + static_cast<int>(random.below(7))), 0.1 + 10.0 * random.uniform()));
    if (random.below(3) == 0) table.memory.weight_type = types[random.below(types.size())];
    if (random.below(3) == 0) table.memory.optimizer = optimizers[random.below(optimizers.size())];
    if (random.below(2) == 0) add_rules(table, task.devices, random);
    try {
      validate(table, "");
    } catch (const Error&) {
      table.rules = {};
    }
  }
  if (random.below(3) == 0) {
    task.batch_size = 1024;
    for (Table& table : task.tables) table.memory.batch_size = task.batch_size;
  }
  if (random.below(4) == 0) add_random_groups(task, 1, random);
  constexpr double kSlack[] = {1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0};
  const double share = static_cast<double>(total_bytes(task)) / task.devices;
  const double slack = kSlack[random.below(std::size(kSlack))];
  task.memory_bytes = 1 + static_cast<std::int64_t>(share * slack);
  if (random.below(2) == 0) {
    for (int device = 0; device < task.devices; ++device) {
      const double part = 0.5 + 1.1 * random.uniform();
      task.device_list.push_back(
          {.memory_bytes = 1 + static_cast<std::int64_t>(share * slack * part)});
    }
  }
  return task;
}

bool is_valid(const Task& task) {
  try {
    validate(task);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace neuroshard::testing
