// Tables that groups keep together or apart: what every algorithm makes of them, with a look at all
// ways to give whole tables and their halves to devices as the judge.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "neuroshard/what_if.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/equal_tables.h"
#include "search/kept_rules.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using testing::add_random_groups;
using testing::drawn_tasks;
using testing::expect_every_algorithm_keeps_rules;
using testing::expect_keeps_rules;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::random_models;
using testing::random_task;

/// Three to five tables of 4 or 8 columns on two to four devices, in groups, with little memory.
Task tiny_task_with_groups(std::uint64_t seed) {
  Random random(seed, 41);
  Task task;
  task.devices = 2 + static_cast<int>(random.below(3));
  const std::size_t tables = 3 + random.below(3);
  for (std::size_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 1000 + static_cast<std::int64_t>(random.below(100'000));
    table.dim = 4 << random.below(2);
    table.pooling_factor = 1.0 + static_cast<double>(random.below(60));
    table.access_histogram[random.below(6)] = 1.0;
    if (t > 0 && random.below(4) == 0) table = task.tables.front();
    if (random.below(8) == 0) {
      table.rules.not_devices = {static_cast<int>(random.below(2))};
    }
  }
  const double share = static_cast<double>(total_bytes(task)) / task.devices;
  task.memory_bytes = 1 + static_cast<std::int64_t>(share * (1.1 + 2.0 * random.uniform()));
  while (task.groups.empty()) add_random_groups(task, 3, random);
  return task;
}

/// Devices of a table: of the whole if they are the same, else of its halves.
using HalvesOn = std::pair<int, int>;

// Calls `visit` with the cost of every plan that keeps rules, groups and memory, until it returns
// true. By nothing but the format's words on groups.
bool any_plan_in_groups(const Task& task, const std::function<bool(const Plan&)>& visit) {
  std::vector<HalvesOn> chosen;
  const std::function<bool()> go_on = [&] {
    const std::size_t t = chosen.size();
    if (t < task.tables.size()) {
      for (int a = 0; a < task.devices; ++a) {
        for (int b = task.tables[t].dim == 8 ? 0 : a; b <= a; ++b) {
          chosen.emplace_back(a, b);
          if (go_on()) return true;
          chosen.pop_back();
        }
      }
      return false;
    }
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(task.devices), 0);
    Plan plan;
    plan.shards.resize(bytes.size());
    for (std::size_t i = 0; i < t; ++i) {
      const Table& table = task.tables[i];
      const auto [a, b] = chosen[i];
      for (const int device : a == b ? std::vector{a} : std::vector{a, b}) {
        if (std::ranges::count(table.rules.not_devices, device) > 0) return false;
        const int dim = a == b ? table.dim : table.dim / 2;
        bytes[static_cast<std::size_t>(device)] += table.rows * dim * 4;
        plan.shards[static_cast<std::size_t>(device)].push_back(
            static_cast<int>(plan.slices.size()));
        plan.slices.push_back(
            {static_cast<int>(i), a != b && device == b ? dim : 0, dim, 0, table.rows});
      }
    }
    if (std::ranges::max(bytes) > task.memory_bytes) return false;
    for (const TableGroup& group : task.groups) {
      std::set<int> devices;
      std::size_t held = 0;
      for (const int table : group.tables) {
        const auto [a, b] = chosen[static_cast<std::size_t>(table)];
        devices.insert({a, b});
        held += a == b ? 1 : 2;
      }
      if (devices.size() != (group.keep == Keep::kTogether ? 1U : held)) return false;
    }
    return visit(plan);
  };
  return go_on();
}

TEST(Groups, EveryAlgorithmKeepsThemAndNoPlanThatExistsIsDenied) {
  expect_every_algorithm_keeps_rules(random_models(1), tiny_task_with_groups, [](const Task& task) {
    return any_plan_in_groups(task, [](const Plan&) { return true; });
  });
}

TEST(Groups, LittleIsCheaperThanWhatTheSearchFinds) {
  const Planner planner(builtin_weights(), {.cuts = Cuts::kColumns, .threads = 1});
  int tasks = 0;
  int optimal = 0;
  double worst = 1.0;
  for (std::uint64_t seed = 5000; seed < 5000 + drawn_tasks(60); ++seed) {
    SCOPED_TRACE(seed);
    const Task task = tiny_task_with_groups(seed);
    double lowest_ms = std::numeric_limits<double>::infinity();
    (void)any_plan_in_groups(task, [&](const Plan& plan) {
      lowest_ms = std::min(lowest_ms, planner.simulate(task, plan).cost_ms);
      return false;
    });
    const PlanResult result = planner.plan(task);
    ASSERT_EQ(result.plan.has_value(), lowest_ms < std::numeric_limits<double>::infinity());
    if (!result.plan) continue;
    // Two halves on a device, which are not among those, are cheaper now and then: they spare
    // narrow tables there the threads of a wide one.
    EXPECT_GE(result.cost.cost_ms, lowest_ms * 0.9);
    ++tasks;
    optimal += result.cost.cost_ms <= lowest_ms * (1.0 + 1e-5) ? 1 : 0;
    worst = std::max(worst, result.cost.cost_ms / lowest_ms);
  }
  RecordProperty("optimal", optimal);
  RecordProperty("tasks", tasks);
  RecordProperty("worst", std::to_string(worst));
  EXPECT_GE(optimal, tasks * 8 / 10) << "of " << tasks;
  EXPECT_LE(worst, 1.1);
}

TEST(Groups, AllCutsAndEffortsKeepThem) {
  for (const Cuts cuts : {Cuts::kAny, Cuts::kTorchrec}) {
    const Planner planner(builtin_weights(), {.effort = Effort::kFast, .cuts = cuts, .threads = 1});
    const Planner longer(builtin_weights(), {.cuts = cuts, .threads = 2});
    for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
      Task task = testing::random_task_of_all_kinds(seed);
      Random random(seed, 43);
      add_random_groups(task, 4, random);
      expect_keeps_rules(task, (seed % 8 == 0 ? longer : planner).plan(task));
    }
  }
}

// Tables of 100 columns cannot be halved, and only parts of them fit.
TEST(Groups, PartsOfTablesThatAreKeptApartMayMeetEachOther) {
  Task task{.tables = testing::equal_tables(2, 100'000, 100, 3.0),
            .devices = 5,
            .memory_bytes = 100'000 * 52 * 4,
            .groups = {{.name = "eu_us", .tables = {0, 1}, .keep = Keep::kApart}}};
  const Planner planner(builtin_weights(), {.cuts = Cuts::kAny, .threads = 1});
  const PlanResult result = planner.plan(task);
  expect_keeps_rules(task, result);
  ASSERT_TRUE(result.plan);
  EXPECT_GE(result.plan->slices.size(), 4U);
}

/// Few tables, of which some have many lookups and few columns, and groups keep these apart.
Task task_of_heavy_apart_tables(std::uint64_t seed) {
  Random random(seed, 59);
  Task task;
  task.devices = 4 + static_cast<int>(random.below(13));
  task.devices_per_node = 2 << random.below(4);
  const std::size_t heavy = 2 + random.below(3);
  const std::size_t tables = heavy + 1 + random.below(5);
  for (std::size_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 1 + static_cast<std::int64_t>(std::exp(16.0 * random.uniform()));
    table.dim = 4 << random.below(t < heavy ? 3 : 5);
    table.pooling_factor = t < heavy ? 20.0 + 100.0 * random.uniform() : 1.0;
    table.access_histogram[6] = 1.0;
  }
  task.exchange.deduplicate_by_table = random.below(3) == 0;
  const double share = static_cast<double>(total_bytes(task)) / task.devices;
  task.memory_bytes = 1 + static_cast<std::int64_t>(share * (1.1 + 4.0 * random.uniform()));
  std::vector<int> all_heavy;
  for (std::size_t t = 0; t < heavy; ++t) all_heavy.push_back(static_cast<int>(t));
  task.groups = {{.tables = all_heavy, .keep = Keep::kApart}};
  add_random_groups(task, random.below(3), random);
  return task;
}

/// The task, of which plans have tables of groups in columns alone.
Task with_grouped_tables_in_columns(Task task) {
  for (const TableGroup& group : task.groups) {
    for (const int table : group.tables) {
      task.tables[static_cast<std::size_t>(table)].rules.kinds = {ShardingKind::kTable,
                                                                  ShardingKind::kColumn};
    }
  }
  return task;
}

/// Whether some table of a group is cut by rows.
bool has_grouped_blocks(const Task& task, const Plan& plan) {
  return std::ranges::any_of(plan.slices, [&](const TableSlice& slice) {
    return slice.rows < task.tables[static_cast<std::size_t>(slice.table)].rows &&
           std::ranges::any_of(task.groups, [&](const TableGroup& group) {
             return std::ranges::count(group.tables, slice.table) > 0;
           });
  });
}

TEST(Groups, HeavyTablesThatAreKeptApartAreInRowBlocks) {
  Task task{.tables = testing::equal_tables(3, 1'000'000, 16, 80.0),
            .devices = 16,
            .memory_bytes = 1'000'000'000,
            .groups = {{.tables = {0, 1, 2}, .keep = Keep::kApart}}};
  for (const int node : {4, 8, 16}) {
    task.devices_per_node = node;
    const Planner planner(builtin_weights(), {.threads = 1});
    const PlanResult result = planner.plan(task);
    expect_keeps_rules(task, result);
    ASSERT_TRUE(result.plan);
    EXPECT_TRUE(has_grouped_blocks(task, *result.plan));
    const PlanResult in_columns = planner.plan(with_grouped_tables_in_columns(task));
    EXPECT_LT(result.cost.cost_ms, 0.8 * in_columns.cost.cost_ms);
  }
}

TEST(Groups, RowBlocksOfTablesThatAreKeptApartMakeNoPlanDearer) {
  const Planner planner(builtin_weights(), {.threads = 1});
  int in_blocks = 0;
  const std::uint64_t tasks = drawn_tasks(60);
  for (const std::uint64_t seed : testing::Seeds(tasks)) {
    const Task task = task_of_heavy_apart_tables(seed);
    const PlanResult result = planner.plan(task);
    expect_keeps_rules(task, result);
    if (result.plan) in_blocks += has_grouped_blocks(task, *result.plan) ? 1 : 0;
    if (task.exchange.deduplicate_by_table) continue;  // Other starts.
    const PlanResult in_columns = planner.plan(with_grouped_tables_in_columns(task));
    if (!in_columns.plan) continue;
    ASSERT_TRUE(result.plan);
    EXPECT_LE(result.cost.cost_ms, in_columns.cost.cost_ms);
  }
  EXPECT_GE(in_blocks, static_cast<int>(tasks / 4));
}

// No device has room for half of a table, which has four columns.
TEST(Groups, TablesThatFitInRowBlocksAloneMayBeKeptApart) {
  Task task{.tables = testing::equal_tables(3, 100'000, 4),
            .devices = 6,
            .memory_bytes = 100'000 * 4 * 4 * 2 / 3,
            .groups = {{.tables = {0, 1, 2}, .keep = Keep::kApart}}};
  const Planner planner(builtin_weights(), {.threads = 1});
  const PlanResult result = planner.plan(task);
  expect_keeps_rules(task, result);
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->slices.size(), 6U);
  // Two blocks of a fourth table would meet others.
  task.tables.push_back(task.tables.front());
  task.groups.front().tables.push_back(3);
  expect_keeps_rules(task, planner.plan(task));
  EXPECT_FALSE(planner.plan(task).plan);
}

TEST(Groups, ReplanningKeepsRowBlocksOfTablesApart) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  int in_blocks = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(30))) {
    Task task = task_of_heavy_apart_tables(seed);
    Task before = task;
    if (seed % 2 == 0) before.groups.clear();
    if (seed % 3 == 0) task.devices += 2;
    const PlanResult running = planner.plan(before);
    if (!running.plan) continue;
    ReplanRequest request;
    if (seed % 5 < 3) request.most_moved_bytes = total_bytes(task);
    const ReplanResult result = planner.replan(task, {before, *running.plan}, request);
    expect_keeps_rules(task, result.result);
    if (!result.result.plan) continue;
    in_blocks += has_grouped_blocks(task, *result.result.plan) ? 1 : 0;
  }
  EXPECT_GT(in_blocks, 0);
}

// Their blocks are in none of our ways, and on a device in common.
TEST(Groups, ReplanningMovesUnevenBlocksOfTablesThatAreNowKeptApart) {
  using enum ShardingKind;
  Task before{
      .tables = testing::equal_tables(2, 10'000, 16), .devices = 8, .memory_bytes = 10'000'000};
  before.devices_per_node = 4;
  for (Table& table : before.tables)
    table.rules.kinds = {kTable, kColumn, kTableRow, kGrid, kPartRow};
  const Plan running{.slices = {{0, 0, 16, 0, 6000},
                                {0, 0, 16, 6000, 4000},
                                {1, 0, 16, 0, 3000},
                                {1, 0, 16, 3000, 7000}},
                     .shards = {{0}, {1, 2}, {3}, {}, {}, {}, {}, {}}};
  Task task = before;
  task.groups = {{.tables = {0, 1}, .keep = Keep::kApart}};
  const Planner planner(builtin_weights(), {.threads = 1});
  const ReplanResult result = planner.replan(task, {before, running}, {});
  expect_keeps_rules(task, result.result);
  EXPECT_TRUE(result.result.plan);
}

TEST(Groups, PlansInBatchesAndWhatIfsAreTheSame) {
  const Planner planner(random_models(6), {.effort = Effort::kFast, .threads = 2});
  std::vector<Task> tasks;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Task& task = tasks.emplace_back(random_task(seed));
    Random random(seed, 47);
    add_random_groups(task, 3, random);
  }
  const std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_TRUE(outcomes[i].has_value());
    expect_keeps_rules(tasks[i], *outcomes[i]);
    EXPECT_EQ(outcomes[i]->plan, planner.plan(tasks[i]).plan);
    const std::vector<TaskVariant> variants = {{tasks[i].devices, tasks[i].memory_bytes},
                                               {tasks[i].devices + 1, tasks[i].memory_bytes / 2},
                                               {tasks[i].devices + 3, tasks[i].memory_bytes}};
    const std::vector<PlanOutcome> others = plan_variants(planner, tasks[i], variants);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      ASSERT_TRUE(others[v].has_value());
      expect_keeps_rules(task_with(tasks[i], variants[v]), *others[v]);
    }
  }
}

TEST(Groups, ReplanningBringsTablesTogetherAndApart) {
  const Planner planner(random_models(7), {.effort = Effort::kFast, .threads = 1});
  int planned = 0;
  int tasks = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(25))) {
    const Task before = random_task(seed);
    const PlanResult running = planner.plan(before);
    if (!running.plan) continue;
    Task task = before;
    Random random(seed, 53);
    if (random.below(2) == 0) ++task.devices;
    add_random_groups(task, 1 + random.below(3), random);
    if (!planner.plan(task).plan) continue;
    ++tasks;
    const ReplanResult result =
        planner.replan(task, {before, *running.plan}, {.most_moved_bytes = total_bytes(task)});
    expect_keeps_rules(task, result.result);
    planned += result.result.plan ? 1 : 0;
  }
  EXPECT_GT(planned, tasks * 9 / 10) << "of " << tasks;
}

TEST(Groups, ReplanningLeavesWhatKeepsThem) {
  const Planner planner(random_models(8), {.effort = Effort::kFast, .threads = 1});
  Task task = random_task(3);
  task.devices = 4;
  task.memory_bytes = total_bytes(task);
  task.groups = {{.tables = {0, 1}, .keep = Keep::kTogether},
                 {.tables = {1, 2}, .keep = Keep::kApart}};
  const PlanResult running = planner.plan(task);
  ASSERT_TRUE(running.plan);
  const ReplanResult result = planner.replan(task, {task, *running.plan}, {.most_moved_bytes = 0});
  expect_keeps_rules(task, result.result);
  ASSERT_TRUE(result.result.plan);
  EXPECT_EQ(result.moved_bytes, 0);
}

TEST(Groups, ReasonsNameThem) {
  const Planner planner(random_models(8), {.effort = Effort::kFast, .threads = 1});
  Task task{
      .tables = testing::equal_tables(4, 10'000, 16), .devices = 3, .memory_bytes = 1'500'000};
  const auto reason = [&] { return planner.plan(task).infeasible.value(); };
  task.groups = {{.name = "all", .tables = {3, 2, 1, 0}, .keep = Keep::kApart}};
  Infeasibility why = reason();
  EXPECT_EQ(why.kind, Infeasibility::Kind::kRules);
  EXPECT_THAT(why.message, HasSubstr("group 0 ('all') keeps 4 tables apart, but there are 3 "
                                     "devices for them; use more devices"));
  task.groups = {{.name = "all", .tables = {1, 2, 3}, .keep = Keep::kTogether}};
  why = reason();
  EXPECT_EQ(why.kind, Infeasibility::Kind::kRules);
  EXPECT_THAT(why.message,
              HasSubstr("groups keep 3 tables together, the largest of which is table 1 ('t1'), "
                        "and they need 1.83 MiB on one device, but the largest device for them has "
                        "room for 1.43 MiB"));
  task.tables[2].rows = 30'000;
  why = reason();
  EXPECT_EQ(why.table, 2);
  EXPECT_THAT(why.message, HasSubstr("table 2 ('t2'), which a group keeps whole, needs 1.83 MiB on "
                                     "one device, but a device has 1.43 MiB"));
  EXPECT_THAT(why.message, HasSubstr("leave it out of the group"));
  // A ring of five on two devices, though no three are kept from each other.
  task.tables = testing::equal_tables(5, 1000, 16);
  task.devices = 2;
  task.groups.clear();
  for (int t = 0; t < 5; ++t) {
    task.groups.push_back({.tables = {t, (t + 1) % 5}, .keep = Keep::kApart});
  }
  why = reason();
  EXPECT_THAT(why.message, HasSubstr("however finely they are split as the rules of tables allow"));
}

}  // namespace
}  // namespace neuroshard
