#include "neuroshard/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "golden.h"
#include "hosted_task.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::golden_task;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

const Planner& fast_planner() {
  static const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 2});
  return planner;
}

TEST(WhatIf, OutcomesAreThoseOfThePlanner) {
  Task task = golden_task("4gpu_dim64", 3);
  const std::vector<TaskVariant> variants = {
      {4, 4 * kGiB}, {16, 4 * kGiB}, {2, 1 << 20}, {2, 8 * kGiB}, {20000, kGiB}};
  const std::vector<PlanOutcome> outcomes = plan_variants(fast_planner(), task, variants);
  ASSERT_EQ(outcomes.size(), variants.size());
  for (const std::size_t i : {0U, 1U, 3U}) {
    SCOPED_TRACE(i);
    task.devices = variants[i].devices;
    task.memory_bytes = variants[i].memory_bytes.value();
    const PlanResult expected = fast_planner().plan(task);
    ASSERT_TRUE(outcomes[i]);
    EXPECT_EQ(outcomes[i]->plan, expected.plan);
    EXPECT_EQ(outcomes[i]->cost.cost_ms, expected.cost.cost_ms);
  }
  ASSERT_TRUE(outcomes[2]);
  EXPECT_FALSE(outcomes[2]->plan);
  EXPECT_EQ(outcomes[2]->infeasible->kind, Infeasibility::Kind::kTotalMemory);
  ASSERT_FALSE(outcomes[4]);
  EXPECT_THAT(outcomes[4].error().what(), HasSubstr("devices"));
}

TEST(WhatIf, MoreMemoryIsNeverDearer) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  int taken_over = 0;
  for (int index = 0; index < static_cast<int>(testing::drawn_tasks(4)); ++index) {
    SCOPED_TRACE(index);
    const Task task = golden_task("4gpu_dim128", index);
    std::vector<TaskVariant> variants;
    for (const double share : {2.0, 1.0, 1.05, 1.6, 1.2, 1.1, 1.4, 1.02}) {
      std::int64_t bytes = 0;
      for (const Table& table : task.tables) bytes += table.size_bytes();
      variants.push_back({4, static_cast<std::int64_t>(share * static_cast<double>(bytes) / 4.0)});
    }
    const std::vector<PlanOutcome> outcomes = plan_variants(planner, task, variants);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      ASSERT_TRUE(outcomes[i]);
      if (outcomes[i]->plan) {
        Task with = task;
        with.memory_bytes = variants[i].memory_bytes.value();
        EXPECT_THAT(check_plan(*outcomes[i]->plan, with), IsEmpty());
        EXPECT_FALSE(outcomes[i]->infeasible);
        const PlanResult alone = planner.plan(with);
        EXPECT_TRUE(!alone.plan || outcomes[i]->cost.cost_ms <= alone.cost.cost_ms);
        if (!alone.plan || outcomes[i]->cost.cost_ms < alone.cost.cost_ms) ++taken_over;
      }
      for (std::size_t j = 0; j < variants.size(); ++j) {
        if (variants[i].memory_bytes <= variants[j].memory_bytes && outcomes[i]->plan) {
          ASSERT_TRUE(outcomes[j]->plan);
          EXPECT_GE(outcomes[i]->cost.cost_ms, outcomes[j]->cost.cost_ms);
        }
      }
    }
  }
  EXPECT_TRUE(taken_over > 0 || testing::kFewTasks);  // Else the rule was not put to the test.
}

TEST(WhatIf, MoreHostMemoryIsNeverDearer) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  for (std::uint64_t seed = 0; seed < testing::drawn_tasks(4); ++seed) {
    SCOPED_TRACE(seed);
    const Task task = testing::hosted_task(seed, 0.4);
    std::vector<TaskVariant> variants;
    for (const std::int64_t share : {0, 6, 2, 3, 1}) {
      for (const std::int64_t memory : {2, 3, 1, 6}) {
        variants.push_back({.devices = task.devices,
                            .memory_bytes = memory * task.memory_bytes / 2,
                            .host_bytes = share * task.host.bytes / 6});
      }
    }
    const std::vector<PlanOutcome> outcomes = plan_variants(planner, task, variants);
    int planned = 0;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      ASSERT_TRUE(outcomes[i]);
      const Task with = task_with(task, variants[i]);
      EXPECT_EQ(with.host.bytes, variants[i].host_bytes);
      for (std::size_t j = 0; j < variants.size(); ++j) {
        if (variants[i].memory_bytes > variants[j].memory_bytes) continue;
        if (variants[i].host_bytes > variants[j].host_bytes || !outcomes[i]->plan) continue;
        ASSERT_TRUE(outcomes[j]->plan);
        EXPECT_GE(outcomes[i]->cost.cost_ms, outcomes[j]->cost.cost_ms);
      }
      if (!outcomes[i]->plan) continue;
      ++planned;
      EXPECT_THAT(check_plan(*outcomes[i]->plan, with), IsEmpty());
      EXPECT_TRUE(outcomes[i]->cost.fits_memory);
      EXPECT_EQ(outcomes[i]->cost.cost_ms, planner.simulate(with, *outcomes[i]->plan).cost_ms);
      const PlanResult alone = planner.plan(with);
      EXPECT_TRUE(!alone.plan || outcomes[i]->cost.cost_ms <= alone.cost.cost_ms);
    }
    EXPECT_GE(planned, 12);
    EXPECT_LT(planned, 20);  // Without host memory there are none that fit.
  }
}

TEST(WhatIf, HostMemoryIsTheTasksUnlessItIsStated) {
  Task task = testing::hosted_task(0, 0.4);
  task.device_list.assign(static_cast<std::size_t>(task.devices),
                          {.memory_bytes = task.memory_bytes, .host_link_gb_s = 3.0});
  task.device_list[1].host_bytes = 7;
  const Task same = task_with(task, {task.devices, task.memory_bytes});
  EXPECT_EQ(same.host, task.host);
  EXPECT_EQ(same.device_list[1].host_bytes, 7);
  const Task other = task_with(task, {task.devices, task.memory_bytes, 100});
  EXPECT_EQ(other.host.bytes, 100);
  EXPECT_EQ(other.device_list[1].host_bytes, 0);
  EXPECT_EQ(other.device_list[1].host_link_gb_s, 3.0);
  const Task none = task_with(task, {task.devices, task.memory_bytes, 0});
  EXPECT_EQ(none.host, HostMemory{});
  EXPECT_EQ(none.device_list[1].host_link_gb_s, 0.0);
  const std::vector<TaskVariant> negative = {{task.devices, task.memory_bytes, -1}};
  const std::vector<PlanOutcome> refused = plan_variants(fast_planner(), task, negative);
  ASSERT_FALSE(refused[0]);
  EXPECT_THAT(refused[0].error().what(), HasSubstr("gb is"));
}

TEST(WhatIf, ListedDevicesKeepTheirMemoryUnlessItIsStated) {
  Task task = testing::hosted_task(0, 0.4);
  task.device_list.assign(static_cast<std::size_t>(task.devices),
                          {.memory_bytes = task.memory_bytes});
  task.device_list[1].memory_bytes = task.memory_bytes / 4;
  EXPECT_EQ(task_with(task, {task.devices, std::nullopt, 100}).device_list[1].memory_bytes,
            task.memory_bytes / 4);
  EXPECT_EQ(task_with(task, {task.devices, task.memory_bytes}).device_list[1].memory_bytes,
            task.memory_bytes);
  EXPECT_EQ(task_with(task, {task.devices, 2 * task.memory_bytes}).device_list[1].memory_bytes,
            2 * task.memory_bytes);
}

TEST(WhatIf, PlansFitTheMemoryThatIsAskedFor) {
  Task task = golden_task("4gpu_dim64", 3);
  task.device_list.assign(static_cast<std::size_t>(task.devices), {.memory_bytes = 8 * kGiB});
  const std::int64_t little = 1 << 20;
  for (const std::int64_t stated : {std::int64_t{0}, little}) {
    task.memory_bytes = stated;
    const std::vector<TaskVariant> variants = {
        {task.devices}, {task.devices, little}, {task.devices, little + 1000}};
    const std::vector<PlanOutcome> outcomes = plan_variants(fast_planner(), task, variants);
    EXPECT_TRUE(outcomes[0].has_plan());
    EXPECT_FALSE(outcomes[1].has_plan());
    EXPECT_FALSE(outcomes[2].has_plan());
  }
}

TEST(WhatIf, NoVariantsNoOutcomes) {
  EXPECT_THAT(plan_variants(fast_planner(), golden_task("4gpu_dim64", 0), {}), IsEmpty());
}

}  // namespace
}  // namespace neuroshard
