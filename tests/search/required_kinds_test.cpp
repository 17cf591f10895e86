// Tables whose rules say in which ways they may be sharded: that plans of random tasks have them
// so, and none that exists is denied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

#include "core/base/random.h"
#include "message_of.h"
#include "neuroshard/error.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "search/kept_rules.h"
#include "search/planned_cuts.h"
#include "search/random_rules.h"
#include "search/tables_of_kinds.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::expect_good;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kAmple;
using testing::Kinds;
using testing::message_of;
using testing::planner_of;
using testing::random_table_of_kinds;
using testing::random_task_with_kinds;

using enum ShardingKind;

/// Whether a planner that knows row blocks and replicas can shard the table as it must be.
bool is_in_reach(const Task& task, const Table& table) {
  const auto names = [&](ShardingKind kind) {
    return std::ranges::count(table.rules.kinds, kind) > 0;
  };
  const int node = task.devices_per_node;
  const bool nodes = task.devices <= node || (node > 1 && task.devices % node == 0);
  const int of_node = std::min(node, task.devices);
  // Two pairs of devices at least, of which none is all of its node.
  const bool parts = of_node > 2 && task.devices > 3 && (task.devices <= node || node % 2 == 0);
  return table.rules.kinds.empty() || task.devices == 1 || names(kTable) || names(kColumn) ||
         names(kRow) || names(kReplicate) || (nodes && (names(kTableRow) || names(kGrid))) ||
         (parts && names(kPartRow));
}

TEST(RequiredKinds, ArePlannedWhereverTheyCanBe) {
  const Planner planner = planner_of();
  std::vector<Task> tasks;
  std::vector<PlanResult> results;
  int out_of_reach = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(400))) {
    const Task& task = tasks.emplace_back(random_task_with_kinds(seed));
    const auto lost = std::ranges::find_if(
        task.tables, [&](const Table& table) { return !is_in_reach(task, table); });
    int improvements = 0;
    const PlanResult result = planner.plan(
        task, {.alternatives = 2, .on_improvement = [&](const Improvement& better) {
                 ++improvements;
                 EXPECT_THAT(check_plan(better.plan, task), IsEmpty());
                 EXPECT_EQ(better.cost.cost_ms, planner.simulate(task, better.plan).cost_ms);
               }});
    results.push_back(result);
    if (lost == task.tables.end()) {
      expect_good(planner, task, result);
      EXPECT_GT(improvements, 0);
      continue;
    }
    ++out_of_reach;
    ASSERT_TRUE(result.infeasible);
    EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kRules);
    EXPECT_EQ(result.infeasible->table, lost - task.tables.begin());
    EXPECT_THAT(result.infeasible->message, HasSubstr("may by its rule kinds only be sharded as"));
  }
  EXPECT_GT(out_of_reach, 0);
  const std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks, {.alternatives = 2});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(outcomes[i]);
    EXPECT_EQ(outcomes[i]->plan, results[i].plan);
    EXPECT_EQ(outcomes[i]->infeasible.has_value(), results[i].infeasible.has_value());
  }
}

TEST(RequiredKinds, OfMoreEffortAreNotDearer) {
  const Planner fast = planner_of(Effort::kFast);
  const Planner more = planner_of(Effort::kDefault, {}, 3);
  for (std::uint64_t seed = 1000; seed < 1000 + drawn_tasks(40); ++seed) {
    SCOPED_TRACE(seed);
    const Task task = random_task_with_kinds(seed);
    const PlanResult first = fast.plan(task);
    const PlanResult second = more.plan(task);
    ASSERT_EQ(first.plan.has_value(), second.plan.has_value());
    if (!first.plan) continue;
    expect_good(more, task, second);
    EXPECT_LE(second.cost.cost_ms, first.cost.cost_ms);
  }
}

/// All plans of tables that must each be of one kind, whole on a device, in equal row blocks or
/// replicated, until `visit` returns true.
bool any_plan_of_kinds(const Task& task, const std::function<bool(const Plan&)>& visit) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  const std::function<bool(int)> from = [&](int t) {
    if (std::cmp_equal(t, task.tables.size())) return visit(plan);
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    const Plan before = plan;
    const auto place = [&](int device, std::int64_t first_row, std::int64_t rows) {
      plan.shards[static_cast<std::size_t>(device)].push_back(static_cast<int>(plan.slices.size()));
      plan.slices.push_back({t, 0, table.dim, first_row, rows});
    };
    bool found = false;
    if (table.rules.kinds == Kinds{kReplicate}) {
      plan.replicas.push_back(t);
      found = from(t + 1);
    } else if (table.rules.kinds == Kinds{kRow}) {
      const std::int64_t rows = table.rows / task.devices;
      for (int device = 0; device < task.devices; ++device) place(device, device * rows, rows);
      found = from(t + 1);
    } else {
      for (int device = 0; device < task.devices && !found; ++device) {
        plan = before;
        place(device, 0, table.rows);
        found = from(t + 1);
      }
    }
    plan = before;
    return found;
  };
  return from(0);
}

/// A few tables of one kind each, whose rows the devices divide.
Task tiny_task_of_single_kinds(std::uint64_t seed) {
  Random random(seed, 43);
  Task task;
  task.devices = 2 + static_cast<int>(random.below(2));
  const std::size_t tables = 2 + random.below(3);
  for (std::size_t t = 0; t < tables; ++t) {
    constexpr std::array kKinds = {kTable, kTable, kRow, kReplicate};
    Table table = random_table_of_kinds(random, {kKinds[random.below(kKinds.size())]});
    table.rows *= task.devices;
    task.tables.push_back(std::move(table));
  }
  task.memory_bytes = kAmple;
  return task;
}

TEST(RequiredKinds, ThatFitAreNotDenied) {
  const Planner planner = planner_of();
  int infeasible = 0;
  const std::uint64_t tasks = drawn_tasks(300);
  for (const std::uint64_t seed : testing::Seeds(tasks)) {
    Task task = tiny_task_of_single_kinds(seed);
    Random random(seed, 47);
    task.memory_bytes =
        1 + static_cast<std::int64_t>(static_cast<double>(total_bytes(task)) / task.devices *
                                      (0.9 + 1.5 * random.uniform()));
    if (random.below(3) == 0) testing::add_random_devices(task, random);
    const bool feasible =
        any_plan_of_kinds(task, [&](const Plan& plan) { return check_plan(plan, task).empty(); });
    const PlanResult result = planner.plan(task);
    ASSERT_EQ(result.plan.has_value(), feasible)
        << (result.infeasible ? result.infeasible->message : "");
    infeasible += feasible ? 0 : 1;
    if (feasible) expect_good(planner, task, result);
  }
  EXPECT_GT(infeasible, static_cast<int>(tasks / 10));
  EXPECT_LT(infeasible, static_cast<int>(tasks * 9 / 10));
}

TEST(RequiredKinds, LittleIsCheaperThanWhatTheSearchFinds) {
  const Planner planner = planner_of(Effort::kDefault);
  int optimal = 0;
  const int tasks = static_cast<int>(drawn_tasks(100));
  for (int seed = 0; seed < tasks; ++seed) {
    SCOPED_TRACE(seed);
    Task task = tiny_task_of_single_kinds(5000 + static_cast<std::uint64_t>(seed));
    if (seed % 2 == 1) {
      task.device_list.assign(static_cast<std::size_t>(task.devices), {.memory_bytes = kAmple});
      task.device_list[0].speed = 0.25 * static_cast<double>(1 + seed % 20);
      task.device_list[1].base_ms = 0.1 * static_cast<double>(seed % 7);
    }
    double lowest_ms = std::numeric_limits<double>::infinity();
    (void)any_plan_of_kinds(task, [&](const Plan& plan) {
      lowest_ms = std::min(lowest_ms, planner.simulate(task, plan).cost_ms);
      return false;
    });
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.plan);
    // Sums in another order differ in the last bits.
    EXPECT_GE(result.cost.cost_ms, lowest_ms * (1.0 - 1e-5));
    optimal += result.cost.cost_ms <= lowest_ms * (1.0 + 1e-3) ? 1 : 0;
  }
  EXPECT_GE(optimal, tasks * 95 / 100) << "of " << tasks;
}

TEST(RequiredKinds, BesideOtherRulesAreKeptOrExplained) {
  const CostModels& models = builtin_weights();
  std::vector<Planner> planners;
  planners.push_back(planner_of());
  planners.push_back(planner_of(Effort::kFast, Cuts::kTorchrec));
  planners.emplace_back(models, PlannerOptions{.algorithm = Algorithm::kPublished, .threads = 1});
  planners.emplace_back(models, PlannerOptions{.algorithm = Algorithm::kUniform, .threads = 1});
  int contradictory = 0;
  int planned = 0;
  const std::uint64_t tasks = drawn_tasks(300);
  for (const std::uint64_t seed : testing::Seeds(tasks)) {
    Task task = random_task_with_kinds(seed);
    Random random(seed, 53);
    if (random.below(2) == 0) {
      task.memory_bytes =
          1 + static_cast<std::int64_t>(static_cast<double>(total_bytes(task)) / task.devices *
                                        (0.8 + 2.0 * random.uniform()));
    }
    testing::add_random_rules(task, random);
    try {
      validate(task);
    } catch (const Error& error) {
      ++contradictory;
      EXPECT_THAT(error.what(), HasSubstr("contradict each other"));
      continue;
    }
    for (const Planner& planner : planners) {
      const PlanResult result = planner.plan(task);
      if (result.plan) {
        ++planned;
        expect_good(planner, task, result);
        EXPECT_TRUE(result.cost.fits_memory);
      } else {
        EXPECT_FALSE(result.infeasible.value().message.empty());
      }
    }
  }
  EXPECT_GT(contradictory, 0);
  EXPECT_LT(contradictory, static_cast<int>(tasks / 3));
  EXPECT_GT(planned, static_cast<int>(tasks / 2));
}

// Their parts are cut by rows for want of room as other tables are, which makes a grid of the
// whole.
TEST(RequiredKinds, MakeNoGridOfPartsOfColumns) {
  const std::vector<Kinds> sets = {{kRow, kColumn},
                                   {kColumn, kRow, kReplicate},
                                   {kRow, kTable, kColumn},
                                   {kTable, kColumn, kRow, kTableRow}};
  const Planner planner = planner_of();
  int planned = 0;
  int by_rows = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(200))) {
    Random random(seed, 59);
    Task task;
    task.devices = 2 + static_cast<int>(random.below(7));
    for (std::size_t t = 0; t < 1 + random.below(2); ++t) {
      constexpr std::array kDims = {12, 20, 28, 36, 100, 16, 64};
      task.tables.push_back(testing::table_of(3'000'000 / (1 + static_cast<std::int64_t>(t)),
                                              kDims[random.below(kDims.size())], 3.0,
                                              sets[random.below(sets.size())]));
    }
    task.memory_bytes = static_cast<std::int64_t>(static_cast<double>(total_bytes(task)) /
                                                  task.devices * (1.02 + 0.5 * random.uniform()));
    const PlanResult result = planner.plan(task);
    testing::expect_keeps_rules(task, result);
    planned += result.plan ? 1 : 0;
    by_rows += result.plan && has_row_blocks(task, *result.plan) ? 1 : 0;
  }
  EXPECT_GT(planned, 0);
  EXPECT_GT(by_rows, 0);
}

TEST(CutsPreset, TorchrecIsAnyWithEqualWidths) {
  const CostModels& models = builtin_weights();
  const PlannerOptions preset{.effort = Effort::kFast, .cuts = Cuts::kTorchrec, .threads = 1};
  const PlannerOptions spelled{
      .effort = Effort::kFast, .equal_widths = true, .cuts = Cuts::kAny, .threads = 1};
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const Task task = random_task_with_kinds(seed);
    const PlanResult result = Planner(models, preset).plan(task);
    EXPECT_EQ(result.plan, Planner(models, spelled).plan(task).plan);
    EXPECT_EQ(fingerprint(task, preset, models), fingerprint(task, spelled, models));
    EXPECT_NE(fingerprint(task, preset, models), fingerprint(task, {}, models));
    if (!result.plan) continue;
    std::vector<int> width(task.tables.size(), 0);
    for (const TableSlice& slice : result.plan->slices) {
      int& of_table = width[static_cast<std::size_t>(slice.table)];
      if (of_table == 0) of_table = slice.dim;
      EXPECT_EQ(slice.dim, of_table);
    }
  }
  EXPECT_EQ(cuts_from_name("torchrec"), Cuts::kTorchrec);
  EXPECT_THAT(message_of([&] {
                Planner(models, {.algorithm = Algorithm::kPublished, .cuts = Cuts::kTorchrec});
              }),
              HasSubstr("ask for equal widths with algorithm 'neuroshard'"));
}

}  // namespace
}  // namespace neuroshard
