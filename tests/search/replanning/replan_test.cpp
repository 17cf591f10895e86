#include "neuroshard/replan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "message_of.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;
using testing::random_task;

// Re-planning does not know row blocks.
Planner planner_of(const CostModels& models, int threads = 1) {
  return Planner(models, {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = threads});
}

/// A plan that runs, and what its job has become.
struct ChangedJob {
  RunningPlan running;
  Task task;
};

/// Nothing if the task drawn has no plan.
std::optional<ChangedJob> changed_job(const Planner& planner, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  ChangedJob job;
  job.running.task = random_task(seed);
  for (std::size_t i = 0; i < job.running.task.tables.size(); ++i) {
    job.running.task.tables[i].name = "table " + std::to_string(i);
  }
  PlanResult plan = planner.plan(job.running.task);
  if (!plan.plan) return std::nullopt;
  job.running.plan = *std::move(plan.plan);
  job.task = job.running.task;
  std::vector<Table>& tables = job.task.tables;
  const auto device = static_cast<int>(below(static_cast<std::size_t>(job.task.devices)));
  if (below(2) == 0 && job.task.devices > 1) {
    job.running.lost_devices.push_back(device);
    --job.task.devices;
  } else if (below(3) == 0) {
    ++job.task.devices;
  }
  if (below(2) == 0) {
    tables.push_back(tables[below(tables.size())]);
    tables.back().name = "added";
  }
  if (below(3) == 0) tables[below(tables.size())].rows *= 2;
  if (below(3) == 0) tables[below(tables.size())].pooling_factor *= 3.0;
  if (below(3) == 0 && tables.size() > 1) {
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(below(tables.size())));
  }
  std::shuffle(tables.begin(), tables.end(), random);
  return job;
}

using Column = std::pair<std::string, int>;  ///< Of a table.

/// What each device of the new task holds before any move.
std::vector<std::map<Column, bool>> columns_held(const ChangedJob& job) {
  std::vector<std::map<Column, bool>> held;
  const auto by_device = slices_by_device(job.running.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    const auto& lost = job.running.lost_devices;
    if (std::find(lost.begin(), lost.end(), static_cast<int>(device)) != lost.end()) continue;
    std::map<Column, bool>& columns = held.emplace_back();
    for (const TableSlice& slice : by_device[device]) {
      const Table& table = job.running.task.tables[static_cast<std::size_t>(slice.table)];
      for (int i = 0; i < slice.dim; ++i) columns[{table.name, slice.first_column + i}] = true;
    }
  }
  held.resize(static_cast<std::size_t>(job.task.devices));
  return held;
}

std::int64_t rows_before(const ChangedJob& job, const std::string& name) {
  for (const Table& table : job.running.task.tables) {
    if (table.name == name) return table.rows;
  }
  return 0;
}

// Every column that a device needs is there already or in exactly one move, whose sender has it;
// bytes are those of what is new to the device.
void expect_moves_make_the_plan(const ChangedJob& job, const ReplanResult& replanned) {
  const auto held = columns_held(job);
  using Rows = std::map<std::int64_t, std::int64_t>;  // First, count.
  std::vector<std::map<Column, Rows>> received(held.size());
  std::int64_t bytes = 0;
  for (const TableMove& move : replanned.moves) {
    bytes += move.bytes;
    const Table& table = job.task.tables[static_cast<std::size_t>(move.columns.table)];
    const RowBytes row = stored_bytes(table.memory);
    const std::int64_t row_bytes = row.per_column * move.columns.dim + row.per_row;
    EXPECT_GT(move.rows, 0);
    EXPECT_EQ(move.bytes, move.rows * row_bytes);
    for (int i = 0; i < move.columns.dim; ++i) {
      const Column column{table.name, move.columns.first_column + i};
      if (move.from >= 0) {
        EXPECT_TRUE(held[static_cast<std::size_t>(move.from)].contains(column));
        EXPECT_LE(move.first_row + move.rows, rows_before(job, table.name));
      }
      EXPECT_NE(move.from, move.to);
      const bool is_new = received[static_cast<std::size_t>(move.to)][column]
                              .emplace(move.first_row, move.rows)
                              .second;
      EXPECT_TRUE(is_new);
    }
  }
  EXPECT_EQ(bytes, replanned.moved_bytes);
  const auto by_device = slices_by_device(*replanned.result.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      const Table& table = job.task.tables[static_cast<std::size_t>(slice.table)];
      for (int i = 0; i < slice.dim; ++i) {
        const Column column{table.name, slice.first_column + i};
        const std::int64_t rows_held =
            held[device].contains(column) ? std::min(table.rows, rows_before(job, table.name)) : 0;
        std::int64_t has = rows_held;
        for (const auto& [first_row, rows] : received[device][column]) {
          EXPECT_EQ(first_row, has);
          has += rows;
        }
        EXPECT_EQ(has, table.rows);
        received[device].erase(column);
      }
    }
    EXPECT_TRUE(received[device].empty()) << "a move that the plan has no use for";
  }
}

TEST(Replan, MovesMakeAValidPlanOfItsCost) {
  for (const CostModels& models : {builtin_weights(), random_models(7)}) {
    const Planner planner = planner_of(models);
    int planned = 0;
    for (std::uint64_t seed = 0; seed < testing::repetitions(80); ++seed) {
      SCOPED_TRACE(seed);
      const auto job = changed_job(planner, seed);
      if (!job) continue;
      const ReplanResult replanned = planner.replan(job->task, job->running);
      EXPECT_EQ(replanned.running_cost.cost_ms,
                planner.simulate(job->running.task, job->running.plan).cost_ms);
      const PlanResult& result = replanned.result;
      ASSERT_NE(result.plan.has_value(), result.infeasible.has_value());
      if (!result.plan) continue;
      ++planned;
      EXPECT_TRUE(result.cost.fits_memory);
      EXPECT_EQ(planner.simulate(job->task, *result.plan).cost_ms, result.cost.cost_ms);
      expect_moves_make_the_plan(*job, replanned);
    }
    EXPECT_GT(planned, NEUROSHARD_SANITIZED ? 0 : 10);
  }
}

TEST(Replan, WithoutAChangeNothingMovesUnlessItPays) {
  const Planner planner = planner_of(builtin_weights());
  for (std::uint64_t seed = 0; seed < testing::repetitions(40); ++seed) {
    SCOPED_TRACE(seed);
    const Task task = random_task(seed);
    const PlanResult plan = planner.plan(task);
    if (!plan.plan) continue;
    const RunningPlan running{task, *plan.plan, {}};
    const ReplanResult replanned = planner.replan(task, running);
    EXPECT_EQ(replanned.must_move_bytes, 0);
    EXPECT_EQ(replanned.moved_bytes, 0);
    EXPECT_TRUE(replanned.moves.empty());
    EXPECT_LE(replanned.result.cost.cost_ms, plan.cost.cost_ms * (1.0 + 1e-5));
    const double price = 1e-3;
    const ReplanResult paid = planner.replan(task, running, {.ms_per_moved_gib = price});
    const double gib = static_cast<double>(paid.moved_bytes) / (1 << 30);
    EXPECT_LE(paid.result.cost.cost_ms + price * gib, plan.cost.cost_ms * (1.0 + 1e-5));
  }
}

TEST(Replan, KeepsToTheBudgetAndIsNoDearerThanANewPlanWhereAllMayMove) {
  const Planner planner = planner_of(builtin_weights());
  for (std::uint64_t seed = 0; seed < testing::repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    const auto job = changed_job(planner, seed);
    if (!job) continue;
    const PlanResult anew = planner.plan(job->task);
    if (!anew.plan) continue;
    const ReplanResult free = planner.replan(
        job->task, job->running, {.most_moved_bytes = std::numeric_limits<std::int64_t>::max()});
    ASSERT_TRUE(free.result.plan);
    EXPECT_LE(free.result.cost.cost_ms, anew.cost.cost_ms * (1.0 + 1e-5));
    const std::int64_t budget =
        free.must_move_bytes + (free.moved_bytes - free.must_move_bytes) / 2;
    try {
      const ReplanResult half =
          planner.replan(job->task, job->running, {.most_moved_bytes = budget});
      EXPECT_TRUE(half.result.plan);
      EXPECT_LE(half.moved_bytes, budget);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("no plan was found within the move budget"));
    }
  }
}

TEST(Replan, MoreEffortIsNeverDearer) {
  for (std::uint64_t seed = 0; seed < testing::repetitions(20); ++seed) {
    SCOPED_TRACE(seed);
    const auto job = changed_job(planner_of(builtin_weights()), seed);
    if (!job) continue;
    // By budget, by price, and free.
    for (const ReplanRequest& request :
         {ReplanRequest{}, ReplanRequest{.ms_per_moved_gib = 1e-3},
          ReplanRequest{.most_moved_bytes = std::numeric_limits<std::int64_t>::max()}}) {
      double before_ms = std::numeric_limits<double>::infinity();
      for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
        const Planner planner(builtin_weights(), {.effort = effort, .threads = 1});
        const ReplanResult replanned = planner.replan(job->task, job->running, request);
        const double gib = static_cast<double>(replanned.moved_bytes) / (1 << 30);
        const double charged_ms = replanned.result.cost.cost_ms + request.ms_per_moved_gib * gib;
        EXPECT_LE(charged_ms, before_ms * (1.0 + 1e-12));
        before_ms = charged_ms;
      }
    }
  }
}

/// Columns of any widths, on any devices.
Plan random_cuts(const Task& task, std::mt19937_64& random) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (int t = 0; t < static_cast<int>(task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    for (int column = 0; column < table.dim;) {
      const auto left = static_cast<std::uint64_t>((table.dim - column) / 4);
      const int dim = 4 + 4 * static_cast<int>(random() % left);
      plan.shards[random() % plan.shards.size()].push_back(static_cast<int>(plan.slices.size()));
      plan.slices.push_back({t, column, dim, 0, table.rows});
      column += dim;
    }
  }
  return plan;
}

/// Two tables of which no device of the running plan has both.
std::optional<TableGroup> pair_apart(const Plan& plan, int tables, std::mt19937_64& random) {
  std::map<int, std::vector<bool>> devices;
  const auto by_device = slices_by_device(plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      devices[slice.table].resize(by_device.size());
      devices[slice.table][device] = true;
    }
  }
  const int first = static_cast<int>(random() % static_cast<std::uint64_t>(tables));
  for (int a = 0; a < tables; ++a) {
    for (int b = a + 1; b < tables; ++b) {
      const int one = (a + first) % tables;
      const int other = (b + first) % tables;
      bool shared = false;
      for (std::size_t d = 0; d < by_device.size(); ++d) {
        shared |= devices[one][d] && devices[other][d];
      }
      if (!shared) return TableGroup{.name = {}, .tables = {one, other}, .keep = Keep::kApart};
    }
  }
  return std::nullopt;
}

/// What is on no device, by the slices of columns that run.
std::int64_t bytes_on_no_device(const ChangedJob& job) {
  const RunningPlan& running = job.running;
  const auto by_device = slices_by_device(running.plan);
  std::int64_t bytes = 0;
  for (const Table& table : job.task.tables) {
    const RowBytes row = stored_bytes(table.memory);
    const std::int64_t before = rows_before(job, table.name);
    if (before == 0) bytes += table.rows * (row.per_column * table.dim + row.per_row);
    for (std::size_t device = 0; device < by_device.size(); ++device) {
      const bool lost =
          std::ranges::count(running.lost_devices, static_cast<int>(device), std::identity{}) > 0;
      for (const TableSlice& slice : by_device[device]) {
        if (running.task.tables[static_cast<std::size_t>(slice.table)].name != table.name) continue;
        const std::int64_t rows =
            lost ? table.rows : std::max<std::int64_t>(0, table.rows - before);
        bytes += rows * (row.per_column * slice.dim + row.per_row);
      }
    }
  }
  return bytes;
}

// A running plan made elsewhere: its slices are no halves of halves.
TEST(Replan, KeepsColumnsOfAnyWidths) {
  const Planner planner = planner_of(builtin_weights());
  int no_more_than_must = 0;
  int with_groups = 0;
  int under_rules = 0;
  for (std::uint64_t seed = 0; seed < testing::repetitions(100); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ChangedJob job;
    job.running.task = random_task(seed);
    Task& before = job.running.task;
    before.memory_bytes = 4 * total_bytes(before);
    for (std::size_t t = 0; t < before.tables.size(); ++t) {
      before.tables[t].name = "table " + std::to_string(t);
    }
    job.running.plan = random_cuts(before, random);
    Task& task = job.task = before;
    std::vector<Table>& tables = task.tables;
    const bool grown = random() % 4 == 0;
    if (grown) tables[random() % tables.size()].rows *= 2;
    bool ruled = false;
    if (random() % 3 == 0) {
      Table& table = tables[random() % tables.size()];
      ruled = table.dim >= 8;
      if (ruled && random() % 2 == 0) table.rules.min_width = 8;
      if (ruled) table.rules.max_slices = static_cast<int>(random() % 4);
    }
    if (random() % 3 == 0) {
      if (auto group = pair_apart(job.running.plan, static_cast<int>(tables.size()), random)) {
        task.groups.push_back(*std::move(group));
        ++with_groups;
      }
    } else if (random() % 2 == 0 && task.devices > 1) {
      job.running.lost_devices.push_back(
          static_cast<int>(random() % static_cast<std::uint64_t>(task.devices)));
      --task.devices;
    }
    if (random() % 4 == 0) ++task.devices;
    if (random() % 4 == 0) {
      tables.push_back(tables.front());
      tables.back().name = "added";
      tables.back().rules = {};
    }
    under_rules += ruled ? 1 : 0;
    const ReplanResult replanned = planner.replan(task, job.running);
    ASSERT_TRUE(replanned.result.plan);
    EXPECT_TRUE(check_plan(*replanned.result.plan, task).empty());
    EXPECT_EQ(planner.simulate(task, *replanned.result.plan).cost_ms,
              replanned.result.cost.cost_ms);
    expect_moves_make_the_plan(job, replanned);
    const bool row_state = std::ranges::any_of(
        tables, [](const Table& table) { return stored_bytes(table.memory).per_row > 0; });
    const std::int64_t must = bytes_on_no_device(job);
    EXPECT_EQ(replanned.must_move_bytes, must);
    if (ruled) continue;
    const ReplanResult least = planner.replan(task, job.running, {.most_moved_bytes = must});
    ASSERT_TRUE(least.result.plan);
    EXPECT_LE(least.moved_bytes, must);
    EXPECT_TRUE(check_plan(*least.result.plan, task).empty());
    expect_moves_make_the_plan(job, least);
    // Lost slices that are joined need less state of rows.
    if (row_state) continue;
    EXPECT_GE(replanned.moved_bytes, must);
    EXPECT_EQ(least.moved_bytes, must);
    ++no_more_than_must;
    if (must > 0) {
      EXPECT_THAT(message_of([&] {
                    (void)planner.replan(task, job.running, {.most_moved_bytes = must - 1});
                  }),
                  HasSubstr("; give at least " + std::to_string(must) + " bytes ("));
    }
  }
  EXPECT_GT(no_more_than_must, NEUROSHARD_SANITIZED ? 0 : 20);
  EXPECT_GT(with_groups, NEUROSHARD_SANITIZED ? 0 : 10);
  EXPECT_GT(under_rules, NEUROSHARD_SANITIZED ? 0 : 10);
}

TEST(Replan, DoesNotDependOnThreads) {
  const Planner one = planner_of(builtin_weights(), 1);
  const Planner four = planner_of(builtin_weights(), 4);
  for (std::uint64_t seed = 0; seed < testing::repetitions(15); ++seed) {
    SCOPED_TRACE(seed);
    const auto job = changed_job(one, seed);
    if (!job) continue;
    const ReplanResult a = one.replan(job->task, job->running);
    const ReplanResult b = four.replan(job->task, job->running);
    EXPECT_EQ(a.result.plan, b.result.plan);
    EXPECT_EQ(a.moved_bytes, b.moved_bytes);
  }
}

TEST(Replan, ADeadlineInThePastStillHasThePlanThatKeepsSlices) {
  const Planner planner = planner_of(builtin_weights());
  const Task task = random_task(3);
  const PlanResult plan = planner.plan(task);
  ASSERT_TRUE(plan.plan);
  ReplanRequest request;
  request.plan.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const ReplanResult replanned = planner.replan(task, {task, *plan.plan, {}}, request);
  ASSERT_TRUE(replanned.result.plan);
  EXPECT_FALSE(replanned.result.complete);
  EXPECT_EQ(replanned.moved_bytes, 0);
}

TEST(Replan, RefusesRequestsThatMakeNoSense) {
  const Planner planner = planner_of(builtin_weights());
  const Task task = random_task(3);
  const PlanResult plan = planner.plan(task);
  ASSERT_TRUE(plan.plan);
  const RunningPlan running{task, *plan.plan, {}};
  const auto message = [&](const ReplanRequest& request) {
    return message_of([&] { (void)planner.replan(task, running, request); });
  };
  EXPECT_THAT(message({.most_moved_bytes = -1}), HasSubstr("move budget is negative"));
  EXPECT_THAT(message({.unspent_bytes = -1}), HasSubstr("move budgets are negative"));
  EXPECT_THAT(message({.unspent_bytes = 0, .ms_per_moved_gib = 1.0}),
              HasSubstr("give one of them"));
  EXPECT_THAT(message({.small_moves_share = -0.1}), HasSubstr("give between 0 and 1"));
  EXPECT_THAT(message({.small_moves_share = 1.1}), HasSubstr("give between 0 and 1"));
  EXPECT_THAT(message({.small_moves_bytes = -1}), HasSubstr("the bytes of small moves"));
  EXPECT_THAT(message({.ms_per_moved_gib = -1.0}), HasSubstr("price of a moved GiB"));
  EXPECT_THAT(message({.ms_per_moved_gib = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("price of a moved GiB"));

  Task grown = task;
  grown.tables.push_back(grown.tables.front());
  grown.tables.back().name = "new";
  EXPECT_THAT(message_of([&] { (void)planner.replan(grown, running, {.most_moved_bytes = 0}); }),
              HasSubstr("no plan was found within the move budget of 0 B; give at least "));

  const Planner published(builtin_weights(), {.algorithm = Algorithm::kPublished});
  EXPECT_EQ(message_of([&] { (void)published.replan(task, running); }),
            "algorithm published does not re-plan; use neuroshard");
}

// Equal tables are told apart by their groups and by what devices hold of them.
TEST(Replan, DoesNotDependOnTheOrderOfEqualTables) {
  const Planner planner = planner_of(random_models(7));
  int replanned = 0;
  for (std::uint64_t seed = 0; seed < testing::repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 3);
    RunningPlan running;
    running.task = random_task(seed);
    std::vector<Table>& tables = running.task.tables;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      if (t > 0 && random.below(2) == 0) tables[t] = tables[random.below(t)];
      tables[t].name = "table " + std::to_string(t);
    }
    testing::add_random_groups(running.task, 3, random);
    PlanResult plan = planner.plan(running.task);
    if (!plan.plan) continue;
    running.plan = *std::move(plan.plan);
    Task task = running.task;
    ++task.devices;
    std::vector<std::size_t> order(tables.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Task shuffled = task;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (std::size_t i = 0; i < order.size(); ++i) shuffled.tables[i] = task.tables[order[i]];
    for (TableGroup& group : shuffled.groups) {
      for (int& table : group.tables) {
        table = static_cast<int>(std::ranges::find(order, static_cast<std::size_t>(table)) -
                                 order.begin());
      }
    }
    const ReplanResult a = planner.replan(task, running);
    const ReplanResult b = planner.replan(shuffled, running);
    // Groups that are alike leave tables of theirs alike; plans are then near to each other.
    if (task.groups.size() > 1) {
      EXPECT_NEAR(a.result.cost.cost_ms, b.result.cost.cost_ms,
                  1e-2 * std::abs(a.result.cost.cost_ms));
    } else {
      EXPECT_EQ(a.result.cost.cost_ms, b.result.cost.cost_ms);
      EXPECT_EQ(a.moved_bytes, b.moved_bytes);
    }
    if (a.result.plan) ++replanned;
  }
  EXPECT_GT(replanned, 0);
}

}  // namespace
}  // namespace neuroshard
