#include "search/tables_of_kinds.h"

#include <algorithm>
#include <utility>

#include "plain_table.h"

namespace neuroshard::testing {

Table table_of(std::int64_t rows, int dim, double pooling_factor, Kinds kinds) {
  Table table = plain_table(rows, dim, pooling_factor);
  table.rules.kinds = std::move(kinds);
  return table;
}

Table random_table_of_kinds(Random& random, Kinds kinds) {
  Table table = table_of(1 + static_cast<std::int64_t>(random.below(100'000)), 4 << random.below(5),
                         1.0 + static_cast<double>(random.below(20)), std::move(kinds));
  if (random.below(5) == 0) table.rows = 1 + static_cast<std::int64_t>(random.below(6));
  return table;
}

Task random_task_with_kinds(std::uint64_t seed) {
  Random random(seed, 41);
  Task task;
  task.devices = 1 + static_cast<int>(random.below(8));
  task.devices_per_node = 2 + static_cast<int>(random.below(5));
  task.memory_bytes = kAmple;
  const std::size_t tables = 1 + random.below(5);
  for (std::size_t t = 0; t < tables; ++t) {
    Kinds kinds;
    for (const ShardingKind kind : all_sharding_kinds()) {
      if (random.below(4) == 0) kinds.push_back(kind);
    }
    if (std::min(task.devices, task.devices_per_node) < 3)
      std::erase(kinds, ShardingKind::kPartRow);
    Table& table = task.tables.emplace_back(random_table_of_kinds(random, std::move(kinds)));
    if (std::ranges::count(table.rules.kinds, ShardingKind::kPartRow) > 0) {
      table.rows = std::max<std::int64_t>(2, table.rows);
    }
  }
  return task;
}

}  // namespace neuroshard::testing
