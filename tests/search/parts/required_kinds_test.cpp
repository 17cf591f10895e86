// Tables whose rules say in which ways they may be sharded: that plans have them so, whatever makes
// the plan, and that a task without such a plan is told why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "core/random.h"
#include "golden.h"
#include "message_of.h"
#include "neuroshard/error.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "search/parts/required_blocks.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::repetitions;

using enum ShardingKind;
using Kinds = std::vector<ShardingKind>;

constexpr std::int64_t kAmple = std::int64_t{1} << 36;

Table table_of(std::int64_t rows, int dim, double pooling_factor, Kinds kinds = {}) {
  Table table;
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling_factor;
  table.access_histogram[1] = 1.0;
  table.rules.kinds = std::move(kinds);
  return table;
}

Planner planner_of(Effort effort = Effort::kFast, std::optional<Cuts> cuts = {}, int threads = 1) {
  return Planner(builtin_weights(), {.effort = effort, .cuts = cuts, .threads = threads});
}

/// A table of random size that may be any of `kinds` of sharding.
Table random_table(Random& random, Kinds kinds) {
  Table table = table_of(1 + static_cast<std::int64_t>(random.below(100'000)), 4 << random.below(5),
                         1.0 + static_cast<double>(random.below(20)), std::move(kinds));
  if (random.below(5) == 0) table.rows = 1 + static_cast<std::int64_t>(random.below(6));
  return table;
}

/// Tables of any kinds on some devices with more room than they need.
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
    task.tables.push_back(random_table(random, std::move(kinds)));
  }
  return task;
}

/// Whether a planner that knows row blocks and replicas can shard the table as it must be.
bool is_in_reach(const Task& task, const Table& table) {
  const auto names = [&](ShardingKind kind) {
    return std::ranges::count(table.rules.kinds, kind) > 0;
  };
  const int node = task.devices_per_node;
  const bool nodes = task.devices <= node || (node > 1 && task.devices % node == 0);
  return table.rules.kinds.empty() || task.devices == 1 || names(kTable) || names(kColumn) ||
         names(kRow) || names(kReplicate) || (nodes && (names(kTableRow) || names(kGrid)));
}

void expect_good(const Planner& planner, const Task& task, const PlanResult& result) {
  ASSERT_TRUE(result.plan) << (result.infeasible ? result.infeasible->message : "");
  EXPECT_FALSE(result.infeasible);
  for (const PlanProblem& problem : check_plan(*result.plan, task)) {
    ADD_FAILURE() << problem.message();
  }
  EXPECT_EQ(result.cost.cost_ms, planner.simulate(task, *result.plan).cost_ms);
  for (const CostedPlan& other : result.alternatives) {
    EXPECT_THAT(check_plan(other.plan, task), IsEmpty());
    EXPECT_GE(other.cost.cost_ms,
              0.998 * result.cost.cost_ms);  // Of about equal ones, fewest slices.
  }
}

TEST(RequiredKinds, ArePlannedWhereverTheyCanBe) {
  const Planner planner = planner_of();
  std::vector<Task> tasks;
  std::vector<PlanResult> results;
  int out_of_reach = 0;
  for (std::uint64_t seed = 0; seed < repetitions(400); ++seed) {
    SCOPED_TRACE(seed);
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
  for (std::uint64_t seed = 1000; seed < 1000 + repetitions(40); ++seed) {
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
bool any_plan(const Task& task, const std::function<bool(const Plan&)>& visit) {
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
    Table table = random_table(random, {kKinds[random.below(kKinds.size())]});
    table.rows *= task.devices;
    task.tables.push_back(std::move(table));
  }
  task.memory_bytes = kAmple;
  return task;
}

TEST(RequiredKinds, ThatFitAreNotDenied) {
  const Planner planner = planner_of();
  int infeasible = 0;
  const std::uint64_t tasks = repetitions(600);
  for (std::uint64_t seed = 0; seed < tasks; ++seed) {
    SCOPED_TRACE(seed);
    Task task = tiny_task_of_single_kinds(seed);
    Random random(seed, 47);
    task.memory_bytes =
        1 + static_cast<std::int64_t>(static_cast<double>(total_bytes(task)) / task.devices *
                                      (0.9 + 1.5 * random.uniform()));
    if (random.below(3) == 0) testing::add_random_devices(task, random);
    const bool feasible =
        any_plan(task, [&](const Plan& plan) { return check_plan(plan, task).empty(); });
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
  const int tasks = static_cast<int>(repetitions(100));
  for (int seed = 0; seed < tasks; ++seed) {
    SCOPED_TRACE(seed);
    Task task = tiny_task_of_single_kinds(5000 + static_cast<std::uint64_t>(seed));
    if (seed % 2 == 1) {
      task.device_list.assign(static_cast<std::size_t>(task.devices), {.memory_bytes = kAmple});
      task.device_list[0].speed = 0.25 * static_cast<double>(1 + seed % 20);
      task.device_list[1].base_ms = 0.1 * static_cast<double>(seed % 7);
    }
    double lowest_ms = std::numeric_limits<double>::infinity();
    (void)any_plan(task, [&](const Plan& plan) {
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

TEST(RequiredKinds, GridsAndNodesKeepOtherRules) {
  const Planner planner = planner_of();
  Task task;
  task.devices = 16;
  task.devices_per_node = 4;
  task.memory_bytes = kAmple;
  task.tables = {table_of(1'000'000, 128, 20.0, {kGrid}), table_of(500'000, 64, 10.0, {kTableRow}),
                 table_of(100'000, 32, 5.0, {kRow}), table_of(10'000, 16, 5.0)};
  task.tables[0].rules.max_slices = 11;
  task.tables[0].rules.min_width = 32;
  task.tables[1].rules.not_devices = {0, 5, 13};
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  std::vector<int> slices(4);
  for (const TableSlice& slice : result.plan->slices) {
    ++slices[static_cast<std::size_t>(slice.table)];
  }
  EXPECT_LE(slices[0], 8);  // Two slices of columns on four devices each.
  EXPECT_EQ(slices[1], 4);
  EXPECT_EQ(slices[2], 16);
  const auto by_device = slices_by_device(*result.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    const bool holds = std::ranges::count(by_device[device], 1, &TableSlice::table) > 0;
    EXPECT_EQ(holds, device / 4 == 2) << device;
  }
  // Over nodes where that is cheaper or over all devices: as the rules leave it.
  task.tables[1].rules = {.kinds = {kRow, kTableRow}};
  expect_good(planner, task, planner.plan(task));
}

TEST(RequiredKinds, NodesAreOfAsManyDevicesAsTheTaskSays) {
  // Too large for a device, whichever the columns; of nodes two or four have room.
  Task task;
  task.devices = 16;
  task.memory_bytes = 100'000'000;
  for (int t = 0; t < 3; ++t) {
    task.tables.push_back(table_of(10'000'000, 4, 10.0, {kTable, kColumn, kTableRow, kGrid}));
  }
  const Planner planner = planner_of();
  for (const int node : {2, 4, 8, 16}) {
    SCOPED_TRACE(node);
    task.devices_per_node = node;
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    EXPECT_EQ(result.plan->slices.size(), static_cast<std::size_t>(3 * node));
  }
  task.devices_per_node = 3;
  EXPECT_FALSE(planner.plan(task).plan);
}

TEST(RequiredKinds, NodesMayBeOfDifferentDevices) {
  const Planner planner = planner_of();
  Task task;
  task.devices = 8;
  task.devices_per_node = 2;
  task.device_list.assign(8, {.memory_bytes = 100'000'000});
  for (int t = 0; t < 4; ++t) {
    task.tables.push_back(table_of(8'000'000, 4, 10.0, {kTableRow}));
    task.tables.push_back(table_of(50'000 + t, 16, 2.0));
  }
  // A block takes 64 MB: no two fit on a device of 100 MB, and none on one of 50 MB.
  task.device_list[0].memory_bytes = 50'000'000;
  EXPECT_FALSE(planner.plan(task).plan);
  task.device_list[2] = {.memory_bytes = 200'000'000, .base_ms = 1.0, .speed = 2.0};
  task.device_list[3] = {.memory_bytes = 200'000'000, .speed = 1.5};
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  const auto by_device = slices_by_device(*result.plan);
  const auto blocks_on = [&](std::size_t device) {
    return std::ranges::count_if(
        by_device[device], [&](const TableSlice& slice) { return is_row_block(task, slice); });
  };
  for (std::size_t device = 0; device < 8; ++device) {
    EXPECT_EQ(blocks_on(device), device < 2 ? 0 : device < 4 ? 2 : 1) << device;
  }
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
  const std::uint64_t tasks = repetitions(600);
  for (std::uint64_t seed = 0; seed < tasks; ++seed) {
    SCOPED_TRACE(seed);
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
  EXPECT_GT(planned, static_cast<int>(tasks));
}

TEST(RequiredKinds, ReasonsNameTableRuleAndRemedy) {
  Task task;
  task.devices = 4;
  task.memory_bytes = kAmple;
  task.tables = {table_of(1000, 16, 2.0), table_of(1000, 16, 2.0, {kRow, kGrid})};
  task.tables[1].name = "user";
  const auto reason = [&](const PlannerOptions& options, const CostModels& models) {
    const PlanResult result = Planner(models, options).plan(task);
    EXPECT_FALSE(result.plan);
    if (!result.infeasible) return std::string("none");
    EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kRules);
    EXPECT_EQ(result.infeasible->table, 1);
    return result.infeasible->message;
  };
  const CostModels& models = builtin_weights();
  for (const Algorithm algorithm : all_algorithms()) {
    if (algorithm == Algorithm::kNeuroshard) continue;
    EXPECT_EQ(reason({.algorithm = algorithm}, models),
              "table 1 ('user') may by its rule kinds only be sharded as row, grid, but the "
              "algorithm " +
                  std::string(name_of(algorithm)) +
                  " cuts no rows and replicates no tables; use the algorithm neuroshard with cuts "
                  "any, or loosen the rule");
  }
  EXPECT_THAT(reason({.cuts = Cuts::kColumns}, models), HasSubstr("; allow cuts any, or loosen"));
  EXPECT_THAT(reason({}, testing::golden_models()), HasSubstr("; allow cuts any, or loosen"));
  task.tables[1].rules.kinds = {kTableRow};
  task.devices_per_node = 3;
  EXPECT_THAT(reason({}, models),
              HasSubstr("4 devices are not several whole nodes of at least 2, of which "
                        "devices_per_node says 3; give another number"));
  task.tables[1].rules.kinds = {kReplicate};
  EXPECT_THAT(reason({.cuts = Cuts::kAny}, testing::golden_models()),
              HasSubstr("the cost models do not price replicas"));

  // In reach, but too large.
  const Planner planner = planner_of(Effort::kDefault);
  task.memory_bytes = 60'000;
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("table 1 ('user') must by its rule kinds be replicated, but there is no "
                        "room for that on 4 devices"));
  task.memory_bytes = 140'000;
  task.tables[0].rules.no_split = true;
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("must by its rule kinds be replicated, which takes 125 KiB of each "
                        "device, and what is left has no room for the others on 4 devices"));
  task.tables[1].rules.kinds = {kRow};
  task.memory_bytes = 70'000;
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("must by its rule kinds be cut by rows, which takes 15.6 KiB of each "
                        "device, and what is left has no room for the others"));
  task.tables[0] = table_of(3000, 16, 2.0, {kTableRow});
  task.devices_per_node = 2;
  const PlanResult both = planner.plan(task);
  ASSERT_TRUE(both.infeasible);
  EXPECT_THAT(both.infeasible->message,
              HasSubstr("2 tables, the largest of which is table 0, must by their rules kinds be "
                        "cut by rows, but there is no room"));
  // Too large in columns, and kinds do not let rows be cut.
  task.tables = {table_of(10'000, 4, 2.0, {kColumn})};
  EXPECT_THAT(planner.plan(task).infeasible->message,
              HasSubstr("(rules: kinds column), but a device has 68.4 KiB"));
  task.tables[0].rules.kinds = {kColumn, kRow, kReplicate};
  task.memory_bytes = 50'000;
  EXPECT_TRUE(planner.plan(task).plan);
}

TEST(RequiredKinds, ReplicasAreTakenOnDevicesThatDiffer) {
  const Planner planner = planner_of(Effort::kDefault);
  Task task;
  task.devices = 3;
  task.tables = {table_of(100'000, 32, 3.0), table_of(50'000, 16, 3.0, {kReplicate}),
                 table_of(20'000, 16, 3.0, {kReplicate, kRow}), table_of(20'000, 16, 3.0)};
  task.device_list = {{.memory_bytes = 20'000'000, .speed = 2.0},
                      {.memory_bytes = 30'000'000, .base_ms = 1.0},
                      {.memory_bytes = 40'000'000}};
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_THAT(result.plan->replicas, ElementsAre(1, 2, 3));  // The last one by cost.
  task.tables.erase(task.tables.begin() + 3);
  task.tables.erase(task.tables.begin());
  const PlanResult all = planner.plan(task);
  expect_good(planner, task, all);
  EXPECT_THAT(all.plan->replicas, ElementsAre(0, 1));
  EXPECT_EQ(planner.plan_batch({&task, 1}).front()->plan, all.plan);
}

TEST(RequiredKinds, ASearchThatIsStoppedSaysSo) {
  const Planner planner = planner_of(Effort::kDefault);
  std::stop_source stop;
  stop.request_stop();
  for (const Kinds& kinds : {Kinds{kRow}, Kinds{kReplicate}}) {
    Task task;
    task.devices = 4;
    task.memory_bytes = kAmple;
    task.tables = {table_of(1000, 16, 2.0), table_of(1000, 16, 2.0, kinds)};
    const PlanResult result = planner.plan(task, {.stop = stop.get_token()});
    EXPECT_FALSE(result.complete);
    if (result.plan) {
      expect_good(planner, task, result);
    } else {
      EXPECT_EQ(result.infeasible.value().kind, Infeasibility::Kind::kNoTime);
    }
  }
}

TEST(RequiredKinds, ReplanningKeepsThemOrRefuses) {
  const Planner planner = planner_of();
  Task task;
  task.devices = 4;
  task.memory_bytes = kAmple;
  for (int t = 0; t < 4; ++t) {
    task.tables.push_back(table_of(100'000 + 1000 * t, 64, 4.0));
    task.tables.back().name = "t" + std::to_string(t);
  }
  task.tables[1].rules.kinds = {kReplicate};
  const RunningPlan running{task, planner.plan(task).plan.value()};
  ASSERT_THAT(running.plan.replicas, ElementsAre(1));
  const ReplanResult kept = planner.replan(task, running);
  expect_good(planner, task, kept.result);
  EXPECT_EQ(kept.moved_bytes, 0);
  // No longer, and what was cut by columns is to be whole.
  Task other = task;
  other.tables[1].rules.kinds = {kColumn, kRow};
  other.tables[2].rules.kinds = {kTable};
  const ReplanResult moved =
      planner.replan(other, running, {.most_moved_bytes = total_bytes(task)});
  expect_good(planner, other, moved.result);
  for (const Kinds& kinds : {Kinds{kReplicate}, Kinds{kRow, kTableRow}}) {
    other.tables[3].rules.kinds = kinds;
    EXPECT_THAT(message_of([&] { (void)planner.replan(other, running); }),
                HasSubstr("table 3 ('t3') may neither be whole nor in slices of columns (rules: "
                          "kinds "));
  }
}

TEST(CutsPreset, TorchrecIsAnyWithEqualWidths) {
  const CostModels& models = builtin_weights();
  const PlannerOptions preset{.effort = Effort::kFast, .cuts = Cuts::kTorchrec, .threads = 1};
  const PlannerOptions spelled{
      .effort = Effort::kFast, .equal_widths = true, .cuts = Cuts::kAny, .threads = 1};
  for (std::uint64_t seed = 0; seed < repetitions(40); ++seed) {
    SCOPED_TRACE(seed);
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
