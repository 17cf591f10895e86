#include "search/random_rules.h"

#include <algorithm>
#include <cmath>

#include "neuroshard/error.h"

namespace neuroshard::testing {
namespace {

std::vector<int> random_devices(int devices, std::size_t most, Random& random) {
  std::vector<int> set;
  const std::size_t count = 1 + random.below(most);
  for (std::size_t i = 0; i < count; ++i) {
    const int device = static_cast<int>(random.below(static_cast<std::size_t>(devices)));
    if (std::find(set.begin(), set.end(), device) == set.end()) set.push_back(device);
  }
  return set;
}

void add_rules_to(Table& table, int devices, Random& random) {
  TableRules& rules = table.rules;
  rules.no_split = random.below(6) == 0;
  if (random.below(5) == 0) rules.min_width = 4 << random.below(3);
  if (random.below(4) == 0) rules.max_slices = 1 + static_cast<int>(random.below(4));
  const auto most = static_cast<std::size_t>(devices);
  if (random.below(3) == 0) rules.devices = random_devices(devices, most, random);
  if (random.below(4) == 0 && devices > 1) {
    rules.not_devices = random_devices(devices, most - 1, random);
    std::erase_if(rules.not_devices, [&](int device) {
      return std::find(rules.devices.begin(), rules.devices.end(), device) != rules.devices.end();
    });
    if (rules.not_devices.size() == most) rules.not_devices.pop_back();
  }
}

// Slices of a table whose rows have bytes of their own take more than the table.
void add_random_memory(Task& task, Random& random) {
  const auto types = all_weight_types();
  const auto optimizers = all_optimizers();
  for (Table& table : task.tables) {
    table.memory.weight_type = types[random.below(types.size())];
    table.memory.optimizer = optimizers[random.below(optimizers.size())];
  }
  task.reserved.share = 0.1 * static_cast<double>(random.below(3));
  task.reserved.bytes = static_cast<std::int64_t>(random.below(10'000));
}

// The memory of a device that has so much besides what is reserved.
std::int64_t with_reserved(const Task& task, std::int64_t bytes) {
  const std::int64_t least = bytes + task.reserved.bytes;
  if (task.reserved.share == 0.0) return least;
  // With some bytes more, for rounding.
  return static_cast<std::int64_t>(static_cast<double>(least) / (1.0 - task.reserved.share)) + 2;
}

}  // namespace

void add_random_rules_to_tables(Task& task, Random& random) {
  for (Table& table : task.tables) {
    if (random.below(2) == 0) add_rules_to(table, task.devices, random);
  }
}

void add_random_node_rules(Task& task, Random& random) {
  const int nodes = (task.devices + task.devices_per_node - 1) / task.devices_per_node;
  for (Table& table : task.tables) {
    if (random.below(3) != 0) continue;
    const TableRules before = table.rules;
    (random.below(2) == 0 ? table.rules.nodes : table.rules.not_nodes) =
        random_devices(nodes, static_cast<std::size_t>(nodes), random);
    try {
      validate(task);
    } catch (const Error&) {
      table.rules = before;
    }
  }
}

void add_random_devices(Task& task, Random& random) {
  std::int64_t largest = 0;
  for (const Table& table : task.tables) largest = std::max(largest, table.size_bytes());
  const double share = static_cast<double>(total_bytes(task)) / task.devices;
  const double slack = 0.7 + 2.0 * random.uniform() * random.uniform();
  for (int device = 0; device < task.devices; ++device) {
    Device one;
    const double room = share * slack * (0.4 + 1.2 * random.uniform());
    one.base_bytes = random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(1'000'000));
    one.memory_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(room)) + one.base_bytes;
    if (random.below(4) == 0) one.memory_bytes += largest;
    one.memory_bytes = with_reserved(task, one.memory_bytes);
    if (random.below(2) == 0) one.base_ms = 20.0 * random.uniform();
    if (random.below(2) == 0) one.speed = std::exp2(4.0 * random.uniform() - 2.0);
    task.device_list.push_back(one);
  }
}

void add_random_rules(Task& task, Random& random) {
  const std::size_t kind = random.below(3);
  if (kind != 0) add_random_rules_to_tables(task, random);
  if (kind != 1) add_random_devices(task, random);
}

void add_random_kinds(Task& task, Random& random) {
  using enum ShardingKind;
  const std::vector<std::vector<ShardingKind>> sets = {
      {kTable}, {kColumn}, {kRow, kTable}, {kGrid, kReplicate, kColumn}, {kTable, kColumn}};
  for (Table& table : task.tables) {
    if (random.below(3) == 0) table.rules.kinds = sets[random.below(sets.size())];
  }
}

void add_some_rules(Task& task, std::uint64_t seed, Random& random) {
  if (seed % 4 == 1) add_random_rules(task, random);
  if (seed % 4 == 2) add_random_kinds(task, random);
  if (seed % 4 == 3) add_random_groups(task, 2, random);
}

void add_random_groups(Task& task, std::size_t most, Random& random) {
  for (std::size_t i = 0; i < most; ++i) {
    TableGroup& group = task.groups.emplace_back();
    group.keep = random.below(2) == 0 ? Keep::kTogether : Keep::kApart;
    const std::size_t one_in = 1 + random.below(4);
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      if (random.below(one_in) == 0) group.tables.push_back(static_cast<int>(t));
    }
    // Tables that are kept apart are few: there are hardly more devices.
    if (group.keep == Keep::kApart && random.below(4) != 0) {
      group.tables.resize(
          std::min(group.tables.size(), 1 + random.below(static_cast<std::size_t>(task.devices))));
    }
    try {
      validate(task);
    } catch (const Error&) {
      task.groups.pop_back();
    }
  }
}

Task tiny_task_with_rules(std::uint64_t seed) {
  Random random(seed, 17);
  Task task;
  task.devices = 1 + static_cast<int>(random.below(3));
  const std::size_t tables = 1 + random.below(3);
  for (std::size_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 1000 + static_cast<std::int64_t>(random.below(1'000'000));
    table.dim = 4 << random.below(3);
    table.pooling_factor = 1.0 + static_cast<double>(random.below(60));
    table.access_histogram[random.below(6)] = 1.0;
    if (t > 0 && random.below(5) == 0) table = task.tables.front();
  }
  Random of_memory(seed, 19);
  if (of_memory.below(3) == 0) add_random_memory(task, of_memory);
  const double share = static_cast<double>(total_bytes(task)) / task.devices;
  task.memory_bytes =
      with_reserved(task, 1 + static_cast<std::int64_t>(share * (0.9 + 0.6 * random.uniform())));
  add_random_rules(task, random);
  Random of_kinds(seed, 23);
  add_random_kinds(task, of_kinds);
  Random of_groups(seed, 29);
  if (of_groups.below(2) == 0) add_random_groups(task, 2, of_groups);
  return task;
}

}  // namespace neuroshard::testing
