// Tables that groups keep apart and that find too few devices, with all ways to give each table a
// device as the judge.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "repetitions.h"
#include "search/equal_tables.h"
#include "search/infeasibility/rule_proofs.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::equal_tables;
using ::testing::HasSubstr;

bool contains(const std::vector<int>& numbers, int number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

Task task_of(int tables, int devices) {
  return {.tables = equal_tables(tables, 1000, 16), .devices = devices};
}

void keep(Task& task, Keep how, std::vector<int> tables) {
  task.groups.push_back(
      {.name = "g" + std::to_string(task.groups.size()), .tables = std::move(tables), .keep = how});
}

/// Up to seven tables on up to four devices, of which some allow them not; most are kept from some
/// others, pair by pair or more at once, a few together with others.
Task random_task_with_groups(std::uint64_t seed) {
  Random random(seed, 43);
  Task task = task_of(2 + static_cast<int>(random.below(6)), 1 + static_cast<int>(random.below(4)));
  const std::size_t tables = task.tables.size();
  for (Table& table : task.tables) {
    if (random.below(3) == 0) {
      table.rules.devices = {
          static_cast<int>(random.below(static_cast<std::uint64_t>(task.devices)))};
    }
  }
  const std::size_t groups = 1 + random.below(10);
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<int> members;
    const std::size_t most = random.below(4) == 0 ? 4 : 2;
    while (members.size() < std::min(most, tables)) {
      const int table = static_cast<int>(random.below(tables));
      if (!contains(members, table)) members.push_back(table);
    }
    keep(task, random.below(6) == 0 ? Keep::kTogether : Keep::kApart, members);
    if (group_problem_of(task)) task.groups.pop_back();
  }
  return task;
}

/// Whether every table can have one device, so that rules and groups are kept. More devices for a
/// table only take them from others.
bool all_find_devices(const Task& task) {
  std::vector<int> device_of;
  const std::function<bool()> place_next = [&] {
    const std::size_t t = device_of.size();
    if (t == task.tables.size()) return true;
    const DeviceSet allowed = allowed_set(task.tables[t].rules, task);
    for (int device = 0; device < task.devices; ++device) {
      if (!allowed.contains(static_cast<std::size_t>(device))) continue;
      const bool kept = std::ranges::all_of(task.groups, [&](const TableGroup& group) {
        if (!contains(group.tables, static_cast<int>(t))) return true;
        return std::ranges::all_of(group.tables, [&](int other) {
          const auto o = static_cast<std::size_t>(other);
          return o >= t || (device_of[o] == device) == (group.keep == Keep::kTogether);
        });
      });
      if (!kept) continue;
      device_of.push_back(device);
      if (place_next()) return true;
      device_of.pop_back();
    }
    return false;
  };
  return place_next();
}

std::optional<Infeasibility> proof_of(const Task& task) {
  const StopCondition never;
  StepBudget budget(StepBudget::kAnySteps, never);
  return proof_by_apart_tables(task, budget);
}

TEST(ApartProofs, AreRightAndFindNearlyAll) {
  int impossible = 0;
  int proven = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(4000))) {
    const Task task = random_task_with_groups(seed);
    const bool none = !all_find_devices(task);
    const auto proof = proof_of(task);
    if (proof) {
      EXPECT_TRUE(none) << proof->message;
      EXPECT_EQ(proof->kind, Infeasibility::Kind::kRules);
      EXPECT_GE(proof->table, 0);
    }
    impossible += none ? 1 : 0;
    proven += none && proof ? 1 : 0;
  }
  EXPECT_GT(impossible, drawn_tasks(4000) / 10);
  EXPECT_GT(proven, impossible * 0.9);
}

TEST(ApartProofs, NameGroupsTablesAndRemedy) {
  const auto reason = [](const Task& task) { return proof_of(task)->message; };
  // Reasons name one group, and a part of one.
  Task one = task_of(4, 3);
  keep(one, Keep::kApart, {0, 1, 2, 3});
  EXPECT_EQ(reason(one),
            "group 0 ('g0') keeps 4 tables apart, but there are 3 devices for them; use more "
            "devices, or take tables out of the group");
  one.devices = 4;
  EXPECT_FALSE(proof_of(one));
  one.tables[1].rules.devices = {2, 3};
  one.tables[2].rules.devices = {2, 3};
  EXPECT_FALSE(proof_of(one));
  one.tables[3].rules.not_devices = {0, 1};
  EXPECT_EQ(reason(one),
            "group 0 ('g0') keeps 3 tables apart, but there are 2 devices for them; use more "
            "devices, allow them more, or take tables out of the group");
  EXPECT_EQ(proof_of(one)->table, 1);
  // Each pair of five has a group.
  Task pairs = task_of(6, 4);
  keep(pairs, Keep::kTogether, {0, 5});
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < a; ++b) keep(pairs, Keep::kApart, {a, b});
  }
  EXPECT_EQ(reason(pairs),
            "10 groups, the first of which is group 1 ('g1'), keep 5 tables from each other, but "
            "there are 4 devices for them and what is kept together with them; use more devices, "
            "or take tables out of the groups");
  pairs.groups.pop_back();
  EXPECT_FALSE(proof_of(pairs));
  // Tables kept together with a table say where that may go.
  Task together = task_of(3, 4);
  together.tables[0].rules.devices = {0};
  together.tables[1].rules.devices = {0};
  keep(together, Keep::kTogether, {0, 2});
  keep(together, Keep::kApart, {1, 2});
  EXPECT_THAT(reason(together),
              HasSubstr("group 1 ('g1') keeps 2 tables apart, but there is 1 device for them and "
                        "what is kept together with them; use more devices, allow them more"));
  EXPECT_EQ(proof_of(together)->table, 2);
}

}  // namespace
}  // namespace neuroshard
