#include "core/tables/table_groups.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/random.h"
#include "message_of.h"
#include "neuroshard/plan_check.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::UnorderedElementsAre;

/// "a", "b", ... of 8 columns on three devices.
Task lettered_tables(std::size_t tables) {
  Task task;
  for (std::size_t t = 0; t < tables; ++t) {
    task.tables.push_back(
        {.name = std::string(1, static_cast<char>('a' + t)), .rows = 100, .dim = 8});
  }
  task.devices = 3;
  task.memory_bytes = 100000;
  return task;
}

TableGroup together(std::vector<int> tables, std::string name = {}) {
  return {.name = std::move(name), .tables = std::move(tables), .keep = Keep::kTogether};
}

TableGroup apart(std::vector<int> tables, std::string name = {}) {
  return {.name = std::move(name), .tables = std::move(tables), .keep = Keep::kApart};
}

std::string error_with(std::vector<TableGroup> groups,
                       const std::function<void(Task&)>& change = {}) {
  Task task = lettered_tables(5);
  task.groups = std::move(groups);
  if (change) change(task);
  return message_of([&] { validate(task, "a.json"); });
}

TEST(TableGroups, ErrorsNameGroupTablesAndRemedy) {
  EXPECT_EQ(error_with({together({0, 1}), apart({2, 5}, "user")}),
            "a.json: group 1 ('user'): names table 5, but there are 5 tables; count from 0");
  EXPECT_THAT(error_with({together({0, -1})}), HasSubstr("group 0: names table -1, but"));
  EXPECT_EQ(error_with({together({1, 2, 1}, "x")}),
            "a.json: group 0 ('x'): names table 1 ('b') twice; name each table once");
  EXPECT_EQ(error_with({apart({3})}), "a.json: group 0: names 1 table; give at least two");
  EXPECT_EQ(error_with({apart({})}), "a.json: group 0: names 0 tables; give at least two");
  EXPECT_THAT(error_with({{.tables = {0, 1}, .keep = static_cast<Keep>(7)}}),
              HasSubstr("keep is none of the enumerators"));
  EXPECT_EQ(
      error_with({together({0, 1})},
                 [](Task& task) {
                   task.tables[1].rules.kinds = {ShardingKind::kRow, ShardingKind::kReplicate};
                 }),
      "a.json: group 0: table 1 ('b') may by its rule kinds only be sharded as row, "
      "replicate, but tables of groups have to be allowed whole or in slices; allow the kind "
      "table or column, or take it out of the group");
}

TEST(TableGroups, ContradictionsNameBothGroups) {
  EXPECT_EQ(error_with({together({0, 1, 2}, "user"), apart({2, 4, 0}, "eu_us")}),
            "a.json: group 0 ('user') keeps table 2 ('c') and table 0 ('a') together, but group 1 "
            "('eu_us') keeps them apart; take one of them out of a group");
  // By way of table 1.
  EXPECT_EQ(error_with({apart({0, 2}), together({0, 1}, "x"), together({1, 2}, "y")}),
            "a.json: group 1 ('x') and group 2 ('y') keep table 0 ('a') and table 2 ('c') "
            "together, but group 0 keeps them apart; take one of them out of a group");
  EXPECT_EQ(error_with({together({0, 1}), together({1, 4})},
                       [](Task& task) {
                         task.tables[0].rules.devices = {0, 1};
                         task.tables[4].rules.not_devices = {0, 1};
                       }),
            "a.json: groups keep table 0 ('a') and table 1 ('b') and 1 more table together, but by "
            "their rules there is no device that may hold all of them: table 0 ('a') (rules: "
            "devices 0, 1), table 4 ('e') (rules: not_devices 0, 1); loosen one of them");
}

TEST(TableGroups, MayShareTables) {
  Task task = lettered_tables(5);
  task.groups = {together({0, 1}), together({1, 2}), apart({0, 3}), apart({2, 3, 4})};
  EXPECT_NO_THROW(validate(task));
}

TEST(TableGroups, MoreColumnsThanCanBeCountedAreRefused) {
  Task task{.devices = 1, .memory_bytes = std::int64_t{1} << 50};
  task.tables.assign(1 << 14, {.name = "", .rows = 1, .dim = kMaxDim});
  TableGroup& all = task.groups.emplace_back();
  all.tables.resize(task.tables.size());
  std::iota(all.tables.begin(), all.tables.end(), 0);
  EXPECT_NO_THROW(validate(task));
  task.tables.push_back(task.tables.front());
  all.tables.push_back(1 << 14);
  EXPECT_THAT(message_of([&] { validate(task); }), HasSubstr("keep no more than 2^30 together"));
}

TEST(TableGroups, BundlesAreWhatGroupsConnect) {
  Task task = lettered_tables(8);
  EXPECT_THAT(table_bundles(task), IsEmpty());
  task.groups = {together({5, 3}), apart({0, 1}), together({7, 6}), together({3, 2}),
                 together({6, 7})};
  EXPECT_THAT(table_bundles(task), ElementsAre(ElementsAre(2, 3, 5), ElementsAre(6, 7)));
  task.tables[3].rules.not_devices = {1};
  task.tables[5].rules.devices = {0, 1};
  EXPECT_THAT(allowed_set(task, {2, 3, 5}).list(), ElementsAre(0));
  EXPECT_THAT(allowed_set(task, {6, 7}).list(), ElementsAre(0, 1, 2));
}

TEST(TableGroups, ApartTablesShareAGroup) {
  Task task = lettered_tables(4);
  EXPECT_TRUE(ApartTables(task).empty());
  task.groups = {together({0, 1}), apart({0, 2}), apart({3, 2})};
  const ApartTables tables(task);
  EXPECT_EQ(tables.groups(), 2U);
  EXPECT_TRUE(tables.apart(0, 2) && tables.apart(2, 0) && tables.apart(2, 3));
  EXPECT_FALSE(tables.apart(0, 1) || tables.apart(0, 3) || tables.apart(1, 2));
}

TEST(TableGroups, ImplyRulesOfTheirTables) {
  using enum ShardingKind;
  Task task = lettered_tables(4);
  task.tables[1].rules.kinds = {kGrid, kColumn};
  task.groups = {together({0, 1}), apart({0, 2})};
  const Task with = with_rules_of_groups(task);
  EXPECT_TRUE(with.tables[0].rules.no_split && with.tables[1].rules.no_split);
  EXPECT_FALSE(with.tables[2].rules.no_split);
  EXPECT_THAT(with.tables[0].rules.kinds, ElementsAre(kTable, kColumn));
  EXPECT_THAT(with.tables[1].rules.kinds, ElementsAre(kColumn));
  EXPECT_THAT(with.tables[2].rules.kinds, ElementsAre(kTable, kColumn, kPartRow));
  EXPECT_EQ(with.tables[3].rules, TableRules{});
}

TEST(TableGroups, ImplyThatTablesThatAreKeptApartAreNotOnAllDevices) {
  using enum ShardingKind;
  Task task = lettered_tables(3);
  task.groups = {apart({0, 1}), apart({1, 2})};
  task.devices = 2 * task.devices_per_node;
  task.tables[2].rules.kinds = {kRow, kTable, kPartRow};
  const Task of_nodes = with_rules_of_groups(task);
  for (const std::size_t t : {0U, 1U}) {
    EXPECT_THAT(of_nodes.tables[t].rules.kinds,
                UnorderedElementsAre(kTable, kColumn, kTableRow, kGrid, kPartRow));
  }
  EXPECT_THAT(of_nodes.tables[2].rules.kinds, UnorderedElementsAre(kTable, kPartRow));
  task.devices = task.devices_per_node;  // A node has all.
  EXPECT_THAT(with_rules_of_groups(task).tables[0].rules.kinds,
              UnorderedElementsAre(kTable, kColumn, kPartRow));
}

TEST(TableGroups, NumbersWithGroupsDoNotDependOnOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, 1);
    Task task = lettered_tables(3 + random.below(6));
    const std::size_t tables = task.tables.size();
    std::vector<std::uint64_t> kinds;
    for (std::size_t t = 0; t < tables; ++t) kinds.push_back(random.below(3));
    const std::size_t groups = random.below(4);
    for (std::size_t g = 0; g < groups; ++g) {
      TableGroup& group = task.groups.emplace_back();
      group.keep = random.below(2) == 0 ? Keep::kTogether : Keep::kApart;
      for (std::size_t t = 0; t < tables; ++t) {
        if (random.below(2) == 0) group.tables.push_back(static_cast<int>(t));
      }
      if (group.tables.size() < 2) task.groups.pop_back();
    }
    const std::vector<std::uint64_t> numbers = with_groups(task, kinds);
    if (task.groups.empty()) {
      EXPECT_EQ(numbers, kinds);
      continue;
    }
    // The task is repeated with tables and groups in another order.
    std::vector<int> place(tables);
    std::iota(place.begin(), place.end(), 0);
    for (std::size_t t = tables; t-- > 1;) std::swap(place[t], place[random.below(t + 1)]);
    Task other = task;
    std::vector<std::uint64_t> other_kinds(tables);
    for (std::size_t t = 0; t < tables; ++t) {
      other_kinds[static_cast<std::size_t>(place[t])] = kinds[t];
    }
    for (TableGroup& group : other.groups) {
      for (int& table : group.tables) table = place[static_cast<std::size_t>(table)];
      std::ranges::reverse(group.tables);
    }
    std::ranges::reverse(other.groups);
    const std::vector<std::uint64_t> others = with_groups(other, other_kinds);
    for (std::size_t t = 0; t < tables; ++t) {
      EXPECT_EQ(numbers[t], others[static_cast<std::size_t>(place[t])]) << seed;
    }
  }
}

std::vector<std::uint64_t> numbers_of(std::size_t tables, std::vector<TableGroup> groups) {
  Task task = lettered_tables(tables);
  task.groups = std::move(groups);
  std::vector<std::uint64_t> numbers = with_groups(task, std::vector<std::uint64_t>(tables, 1));
  std::ranges::sort(numbers);
  return numbers;
}

TEST(TableGroups, NumbersTellGroupsApart) {
  EXPECT_NE(numbers_of(2, {together({0, 1})}), numbers_of(2, {apart({0, 1})}));
  EXPECT_NE(numbers_of(4, {apart({0, 1}), apart({0, 2})}),
            numbers_of(4, {apart({0, 1}), apart({2, 3})}));
  EXPECT_NE(numbers_of(3, {apart({0, 1}), apart({1, 2}), apart({2, 0})}),
            numbers_of(3, {apart({0, 1, 2})}));
  // Two rings of three, and one of six: each table has the same surroundings.
  EXPECT_NE(numbers_of(6, {apart({0, 1}), apart({1, 2}), apart({2, 0}), apart({3, 4}),
                           apart({4, 5}), apart({5, 3})}),
            numbers_of(6, {apart({0, 1}), apart({1, 2}), apart({2, 3}), apart({3, 4}),
                           apart({4, 5}), apart({5, 0})}));
}

/// Pairs that are kept apart, the edges of a graph of equal tables.
Task task_of_graph(std::size_t tables, const std::vector<std::pair<int, int>>& edges) {
  Task task;
  task.tables.resize(tables);
  for (const auto& [a, b] : edges) task.groups.push_back(apart({a, b}));
  return task;
}

std::vector<std::uint64_t> patterns_of(const Task& task) {
  return group_patterns(task, with_groups(task, std::vector<std::uint64_t>(task.tables.size(), 7)));
}

// Refinement alone tells the tables of neither pair of regular graphs apart.
TEST(TableGroups, PatternsTellRegularGraphsApart) {
  const std::vector<std::pair<int, int>> k33 = {{0, 3}, {0, 4}, {0, 5}, {1, 3}, {1, 4},
                                                {1, 5}, {2, 3}, {2, 4}, {2, 5}};
  const std::vector<std::pair<int, int>> prism = {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5},
                                                  {5, 3}, {0, 3}, {1, 4}, {2, 5}};
  const Task a = task_of_graph(6, k33);
  const Task b = task_of_graph(6, prism);
  const std::vector<std::uint64_t> alike(6, 7);
  EXPECT_EQ(with_groups(a, alike), with_groups(b, alike));
  ASSERT_EQ(patterns_of(a).size(), 1U);
  EXPECT_NE(patterns_of(a), patterns_of(b));
  // In any order of the tables.
  Random random(1, 2);
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::vector<int> renamed = {0, 1, 2, 3, 4, 5};
    for (std::size_t i = 6; i > 1; --i) std::swap(renamed[i - 1], renamed[random.below(i)]);
    for (const auto* const edges : {&k33, &prism}) {
      std::vector<std::pair<int, int>> other;
      for (const auto& [u, v] : *edges) {
        other.emplace_back(renamed[static_cast<std::size_t>(v)],
                           renamed[static_cast<std::size_t>(u)]);
      }
      std::reverse(other.begin(), other.end());
      EXPECT_EQ(patterns_of(task_of_graph(6, other)), patterns_of(task_of_graph(6, *edges)));
    }
  }
}

TEST(TableGroups, PatternsAreOfWhatIsNotToldApart) {
  // All tables of one group can take each other's place, and pairs are sets of their own.
  Task task = task_of_graph(40, {});
  std::vector<int> all(40);
  std::iota(all.begin(), all.end(), 0);
  task.groups = {apart(all)};
  EXPECT_TRUE(patterns_of(task).empty());
  // A ring of 40 takes a few steps for each table; 20 tables in pairs with all others too many.
  std::vector<std::pair<int, int>> ring;
  for (int t = 0; t < 40; ++t) ring.emplace_back(t, (t + 1) % 40);
  EXPECT_EQ(patterns_of(task_of_graph(40, ring)).size(), 1U);
  std::vector<std::pair<int, int>> complete;
  for (int a = 0; a < 20; ++a) {
    for (int b = 0; b < a; ++b) complete.emplace_back(a, b);
  }
  EXPECT_TRUE(patterns_of(task_of_graph(20, complete)).empty());
}

TEST(TableGroups, CheckListsAllThatAreBroken) {
  Task task = lettered_tables(5);
  task.groups = {together({0, 1, 2}, "user"), apart({2, 3, 4}), together({3, 4})};
  const auto problems_of = [&](const Plan& plan) {
    std::vector<std::string> lines;
    for (const PlanProblem& problem : check_plan(plan, task)) {
      EXPECT_EQ(problem.kind, PlanProblem::Kind::kRule);
      lines.push_back(problem.message());
    }
    return lines;
  };
  const Plan whole{.slices = whole_tables(task), .shards = {{0, 1}, {2, 4, 3}, {}}};
  EXPECT_THAT(problems_of(whole),
              ElementsAre("group 0 ('user'): keeps its tables together, but they are on 2 devices, "
                          "table 0 ('a') on device 0 and table 2 ('c') on device 1; move all of "
                          "them to one device",
                          "group 1: keeps its tables apart, but device 1 holds 3 tables of it, "
                          "table 2 ('c') and table 3 ('d') among them; move all but one of them to "
                          "other devices"));
  task.groups.pop_back();
  EXPECT_THAT(problems_of({.slices = whole.slices, .shards = {{0, 1, 2}, {3}, {4}}}), IsEmpty());
  // Slices of one table may share a device with each other, and tables in slices be together.
  Plan cut{.slices = whole.slices, .shards = {{2, 1, 0, 5}, {3, 6}, {4}}};
  cut.slices[0].dim = 4;
  cut.slices.push_back({0, 4, 4, 0, 100});
  cut.slices[3].dim = 4;
  cut.slices.push_back({3, 4, 4, 0, 100});
  EXPECT_THAT(problems_of(cut), IsEmpty());
  std::swap(cut.shards[0][3], cut.shards[1][1]);
  EXPECT_THAT(problems_of(cut), ElementsAre(HasSubstr("group 0 ('user')"),
                                            HasSubstr("device 0 holds 2 tables of it, table 2 "
                                                      "('c') and table 3 ('d'); move all but")));
}

TEST(TableGroups, ReplicatedTablesAreOnEveryDevice) {
  Task task = lettered_tables(3);
  task.groups = {together({0, 1}), apart({1, 2})};
  const auto slices = [](std::vector<int> tables) {
    std::vector<TableSlice> wholes;
    for (const int table : tables) wholes.push_back({table, 0, 8, 0, 100});
    return wholes;
  };
  const auto groups_broken_by = [&](const Plan& plan) { return check_plan(plan, task).size(); };
  EXPECT_EQ(groups_broken_by({.slices = slices({1, 2}), .shards = {{0}, {1}, {}}, .replicas = {0}}),
            1U);
  EXPECT_EQ(
      groups_broken_by({.slices = slices({0, 1}), .shards = {{0, 1}, {}, {}}, .replicas = {2}}),
      1U);
  task.devices = 1;
  task.groups.pop_back();
  EXPECT_EQ(groups_broken_by({.slices = slices({1, 2}), .shards = {{0, 1}}, .replicas = {0}}), 0U);
}

}  // namespace
}  // namespace neuroshard
