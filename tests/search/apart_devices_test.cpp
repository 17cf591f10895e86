#include "search/apart_devices.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Task equal_tables(std::size_t tables, int devices) {
  Task task;
  task.tables.assign(tables, {.name = "", .rows = 1000, .dim = 64, .pooling_factor = 1.0});
  task.devices = devices;
  task.memory_bytes = 1'000'000;
  return task;
}

TEST(ApartDevices, AreSharedOutByWhatTablesHaveToDo) {
  Task task = equal_tables(4, 8);
  task.tables[1].pooling_factor = 7.0;
  task.tables[2].pooling_factor = 0.0;
  task.groups = {{.tables = {0, 1, 2}, .keep = Keep::kApart}};
  const Task with = with_devices_of_apart_tables(task).value();
  EXPECT_THAT(with.groups, IsEmpty());
  EXPECT_THAT(with.tables[3].rules.devices, IsEmpty());
  EXPECT_EQ(with.tables[0].rules.devices.size(), 2U);
  EXPECT_EQ(with.tables[1].rules.devices.size(), 5U);
  EXPECT_EQ(with.tables[2].rules.devices.size(), 1U);
}

TEST(ApartDevices, GoFirstToTablesThatLackMemory) {
  Task task = equal_tables(2, 4);
  task.tables[0].rows = 10'000;
  task.tables[0].pooling_factor = 0.0;
  task.tables[1].pooling_factor = 100.0;
  task.groups = {{.tables = {0, 1}, .keep = Keep::kApart}};
  EXPECT_EQ(with_devices_of_apart_tables(task)->tables[0].rules.devices.size(), 3U);
}

TEST(ApartDevices, NoTableIsLeftWithout) {
  Task task = equal_tables(3, 2);
  task.groups = {{.tables = {0, 1, 2}, .keep = Keep::kApart}};
  EXPECT_FALSE(with_devices_of_apart_tables(task));
  task.groups = {{.tables = {0, 1}, .keep = Keep::kApart},
                 {.tables = {2, 1}, .keep = Keep::kApart}};
  EXPECT_TRUE(with_devices_of_apart_tables(task));
}

TEST(ApartDevices, KeepRulesAndGroups) {
  int made = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(300))) {
    Task task = testing::random_task(seed);
    Random random(seed, 61);
    testing::add_random_rules(task, random);
    testing::add_random_groups(task, 4, random);
    std::erase_if(task.groups,
                  [](const TableGroup& group) { return group.keep == Keep::kTogether; });
    if (task.groups.empty()) continue;
    const std::optional<Task> with = with_devices_of_apart_tables(task);
    if (!with) continue;
    ++made;
    validate(*with);
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      for (const int device : with->tables[t].rules.devices) {
        EXPECT_TRUE(task.tables[t].rules.allow(device, task.devices_per_node));
      }
    }
    for (const TableGroup& group : task.groups) {
      std::set<int> seen;
      for (const int table : group.tables) {
        const auto& devices = with->tables[static_cast<std::size_t>(table)].rules.devices;
        EXPECT_FALSE(devices.empty());
        for (const int device : devices) EXPECT_TRUE(seen.insert(device).second);
      }
    }
  }
  EXPECT_GT(made, static_cast<int>(testing::drawn_tasks(300) / 6));
}

}  // namespace
}  // namespace neuroshard
