// Plans from nothing and from others, of random tasks of everything that a task can say.
#include "search/engine/portfolio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/tables/table_groups.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/canonical_task.h"
#include "search/engine/chain.h"
#include "search/engine/ladder_start.h"
#include "search/planned_cuts.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::IsEmpty;

constexpr double kExact = 1e-5;  // Share of a cost: sums in another order.

/// A task of several devices, on the models of its setting.
struct Case {
  Task task;
  std::unique_ptr<Backend> backend;
};

std::optional<Case> case_of(std::uint64_t seed) {
  Case one{.task = testing::random_task_of_all_kinds(seed), .backend = nullptr};
  if (one.task.devices < 2) return std::nullopt;
  Random random(seed, 93);
  if (seed % 4 == 1) testing::add_random_rules(one.task, random);
  if (seed % 4 == 2) testing::add_random_kinds(one.task, random);
  if (seed % 4 == 3) testing::add_random_groups(one.task, 2, random);
  one.task = with_rules_of_groups(one.task);
  one.backend = make_cpu_backend(models_for(builtin_weights(), comm_setting(one.task)));
  return one;
}

/// Plans in the order in which they were given to it.
struct Considered {
  std::vector<Plan> plans;
  SearchStats stats;
  [[nodiscard]] Portfolio::Consider consider() {
    return [this](Plan plan) { plans.push_back(std::move(plan)); };
  }
};

/// Plans of a LadderStart that goes on.
Considered started(const Portfolio& portfolio) {
  Considered found;
  LadderStart start(portfolio);
  start.begin(found.consider());
  start.go_on(found.consider());
  start.add_work_to(found.stats);
  return found;
}

TEST(LadderStart, StartsFromNothingWithValidPlans) {
  int planned = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    const std::optional<Case> one = case_of(seed);
    if (!one) continue;
    const StopCondition never;
    const WayOptions ways{.rows = seed % 5 != 0, .replicas = seed % 5 < 3};
    const Portfolio portfolio{
        .backend = *one->backend, .task = one->task, .ways = ways, .stop = never};
    const Considered found = started(portfolio);
    EXPECT_LE(found.plans.size(), 3U);
    for (const Plan& plan : found.plans) {
      ++planned;
      EXPECT_THAT(check_plan(plan, one->task), IsEmpty());
      EXPECT_TRUE(simulate(*one->backend, one->task, plan).fits_memory);
      EXPECT_TRUE(ways.rows || !has_row_blocks(one->task, plan));
      EXPECT_TRUE(ways.replicas || plan.replicas.empty());
      EXPECT_GT(found.stats.edits, 0U);
    }
    const Considered again = started(portfolio);
    EXPECT_EQ(again.plans, found.plans);
    EXPECT_EQ(again.stats.edits, found.stats.edits);
  }
  EXPECT_GT(planned, 0);
}

TEST(Portfolio, ImprovesStepByStepAndLongerIsNeverDearer) {
  // Its plans are seldom good.
  const Planner uniform(builtin_weights(), {.algorithm = Algorithm::kUniform, .threads = 1});
  int improved = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(12))) {
    const std::optional<Case> one = case_of(seed);
    if (!one) continue;
    const PlanResult start = uniform.plan(one->task);
    if (!start.plan) continue;
    const auto cost_ms = [&](const Plan& plan) {
      return simulate(*one->backend, one->task, plan).cost_ms;
    };
    const double start_ms = cost_ms(*start.plan);
    double before_ms = start_ms;
    const StopCondition never;
    for (const Effort effort : {Effort::kDefault, Effort::kThorough}) {
      if (effort == Effort::kThorough && seed % 6 != 0) continue;
      const Portfolio portfolio{
          .backend = *one->backend, .task = one->task, .ways = {}, .effort = effort, .stop = never};
      Considered found;
      portfolio.improve({&*start.plan, 1}, found.consider(), found.stats);
      double last_ms = start_ms;
      for (const Plan& plan : found.plans) {
        EXPECT_THAT(check_plan(plan, one->task), IsEmpty());
        const double ms = cost_ms(plan);
        EXPECT_LT(ms, last_ms * (1.0 + kExact));
        last_ms = ms;
      }
      EXPECT_LE(last_ms, before_ms * (1.0 + kExact)) << name_of(effort);
      before_ms = last_ms;
    }
    improved += before_ms < 0.999 * start_ms ? 1 : 0;
  }
  EXPECT_GT(improved, 0);
}

TEST(Portfolio, DoesNothingAfterAStop) {
  const std::optional<Case> one = case_of(4);
  ASSERT_TRUE(one);
  const StopCondition at_once([] { return true; });
  const Portfolio portfolio{
      .backend = *one->backend, .task = one->task, .ways = {}, .stop = at_once};
  Considered found = started(portfolio);
  const Plan nothing;
  portfolio.improve({&nothing, 1}, found.consider(), found.stats);
  EXPECT_THAT(found.plans, IsEmpty());
  EXPECT_EQ(found.stats.edits, 0U);
}

// A plan that lacks tables is no start: with a ladder it does not matter, without one there is
// nothing to go on from.
TEST(Chain, NeedsAPlanOfAllTablesUnlessItBeginsWithALadder) {
  int planned = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const std::optional<Case> one = case_of(seed);
    if (!one) continue;
    const PlanResult whole = testing::planner_of(Effort::kFast).plan(one->task);
    if (!whole.plan || whole.plan->slices.empty()) continue;
    const BundledTask canonical = canonical_task(one->task);
    Plan lacking = canonical.plan_of_task(*whole.plan);
    const int lost = lacking.slices.front().table;
    for (std::vector<int>& shard : lacking.shards) {
      std::erase_if(
          shard, [&](int i) { return lacking.slices[static_cast<std::size_t>(i)].table == lost; });
    }
    const StopCondition never;
    Chain bare(*one->backend, canonical, {}, lacking, {}, never);
    bare.run(500, never);
    EXPECT_EQ(bare.best(), nullptr);
    EXPECT_EQ(bare.edits(), 0U);
    Chain with_ladder(*one->backend, canonical, {}, lacking, {.rungs = 5}, never);
    with_ladder.run(500, never);
    if (with_ladder.best() == nullptr) continue;
    ++planned;
    const Plan plan = canonical.plan_of_listed(*with_ladder.best());
    EXPECT_THAT(check_plan(plan, one->task), IsEmpty());
    const double ms = simulate(*one->backend, one->task, plan).cost_ms;
    EXPECT_NEAR(with_ladder.best_ms(), ms, 1e-3 * ms);
  }
  EXPECT_GT(planned, 0);
}

TEST(Chain, FollowsOneThatIsCheaper) {
  int followed = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(20))) {
    const std::optional<Case> one = case_of(seed);
    if (!one) continue;
    const PlanResult start = testing::planner_of(Effort::kFast).plan(one->task);
    if (!start.plan) continue;
    const BundledTask canonical = canonical_task(one->task);
    const Plan plan = canonical.plan_of_task(*start.plan);
    const StopCondition never;
    Chain shorter(*one->backend, canonical, {}, plan, {.number = 0}, never);
    Chain longer(*one->backend, canonical, {}, plan, {.number = 1}, never);
    shorter.run(1, never);
    longer.run(20'000, never);
    const double before_ms = shorter.best_ms();
    shorter.follow(longer);
    longer.follow(shorter);
    EXPECT_LE(shorter.best_ms(), before_ms);
    if (shorter.best() == nullptr) continue;
    const Plan found = canonical.plan_of_listed(*shorter.best());
    EXPECT_THAT(check_plan(found, one->task), IsEmpty());
    const double ms = simulate(*one->backend, one->task, found).cost_ms;
    EXPECT_NEAR(shorter.best_ms(), ms, 1e-3 * ms);
    followed += shorter.best_ms() < before_ms ? 1 : 0;
  }
  EXPECT_TRUE(followed > 0 || testing::kFewTasks);
}

/// Tables of several widths fill 95 % of 8 devices.
Task full_task(std::uint64_t seed) {
  constexpr std::array kDims = {8, 16, 32, 64, 128, 256};
  Random random(seed, 95);
  Task task{.devices = 8};
  for (int i = 0; i < 30; ++i) {
    const auto rows = static_cast<std::int64_t>(random.log_uniform(1e3, 1e8));
    const int dim = kDims[random.below(kDims.size())];
    task.tables.push_back(testing::plain_table(rows, dim, random.log_uniform(1.0, 100.0)));
  }
  task.memory_bytes = static_cast<std::int64_t>(static_cast<double>(total_bytes(task)) / 7.6);
  return task;
}

TEST(Chain, AnnealedCutsMakeFullTasksCheaperOnTheWhole) {
  double times = 1.0;
  int planned = 0;
  for (std::uint64_t seed = 0; seed < drawn_tasks(25); ++seed) {
    const Task task = full_task(seed);
    const std::unique_ptr<Backend> backend =
        make_cpu_backend(models_for(builtin_weights(), comm_setting(task)));
    const BundledTask canonical = canonical_task(task);
    const StopCondition never;
    const auto cost_ms = [&](std::size_t anneal_places) {
      Plan nothing;
      nothing.shards.resize(static_cast<std::size_t>(task.devices));
      Chain chain(*backend, canonical, {}, nothing,
                  {.rungs = 5, .more_rungs = 3, .anneal_places = anneal_places}, never);
      chain.run(1, never);
      chain.run_more_rungs(never);
      return chain.best_ms();
    };
    const double without_ms = cost_ms(0);
    const double with_ms = cost_ms(1'500'000);
    if (!std::isfinite(without_ms) || !std::isfinite(with_ms)) continue;
    ++planned;
    times *= with_ms / without_ms;
  }
  if (testing::kFewTasks) return;  // Too few tasks.
  EXPECT_GT(planned, 15);
  EXPECT_LT(times, 0.98);
}

}  // namespace
}  // namespace neuroshard
