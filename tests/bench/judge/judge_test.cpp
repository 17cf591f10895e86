#include "bench/judge/judge.h"

#include <gtest/gtest.h>

#include <numeric>

#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"

namespace neuroshard::bench {
namespace {

Task task_of_few_tables() {
  Task task{.devices = 4, .memory_bytes = bytes_from_gib(1.0), .devices_per_node = 2};
  for (int i = 0; i < 5; ++i) {
    Table table{
        .rows = 20000 * (i + 1) * (i + 1), .dim = 16 * (i + 1), .pooling_factor = 4.0 * (5 - i)};
    table.access_histogram[0] = 1.0;
    task.tables.push_back(table);
  }
  return task;
}

// All tables on one device are the worst plan.
TEST(Judge, FindsAPlanThatIsValidAndCostsWhatItSays) {
  const Task task = task_of_few_tables();
  const auto backend = make_cpu_backend(models_for(builtin_weights(), comm_setting(task)));
  const PlanPrice price = [&](const Plan& plan) { return simulate(*backend, task, plan); };
  Plan worst{.slices = whole_tables(task), .shards = std::vector<std::vector<int>>(4)};
  worst.shards[0].resize(5);
  std::iota(worst.shards[0].begin(), worst.shards[0].end(), 0);
  const Judged judged = judge(task, worst, price, {.seconds = 0.3});
  EXPECT_GT(judged.priced, 0);
  EXPECT_NO_THROW(validate(judged.plan, task));
  const PlanCost cost = price(judged.plan);
  EXPECT_TRUE(cost.fits_memory);
  EXPECT_EQ(cost.cost_ms, judged.cost_ms);
  EXPECT_LT(judged.cost_ms, 0.8 * price(worst).cost_ms);
}

// Row blocks, grids and replicas that a plan has are read and written as they are.
TEST(Judge, TakesPlansOfAllWays) {
  const Task task = task_of_few_tables();
  const auto backend = make_cpu_backend(models_for(builtin_weights(), comm_setting(task)));
  const PlanPrice price = [&](const Plan& plan) { return simulate(*backend, task, plan); };
  Plan plan;
  plan.shards.resize(4);
  const auto place = [&](const TableSlice& slice, std::size_t device) {
    plan.shards[device].push_back(static_cast<int>(plan.slices.size()));
    plan.slices.push_back(slice);
  };
  plan.replicas = {0};
  for (std::size_t d = 0; d < 4; ++d) {
    place({1, 0, 32, static_cast<std::int64_t>(d) * 20000, 20000}, d);
  }
  for (std::size_t d = 0; d < 2; ++d) {
    place({2, 0, 20, static_cast<std::int64_t>(d) * 90000, 90000}, d);
    place({2, 20, 28, static_cast<std::int64_t>(d) * 90000, 90000}, d + 2);
  }
  place({3, 0, 64, 0, 100000}, 0);  // Blocks that no way has stay.
  place({3, 0, 64, 100000, 220000}, 1);
  place({4, 0, 80, 0, 500000}, 3);
  validate(plan, task);
  const Judged judged = judge(task, plan, price, {.seconds = 0.2});
  EXPECT_NO_THROW(validate(judged.plan, task));
  EXPECT_LE(judged.cost_ms, price(plan).cost_ms);
  EXPECT_EQ(price(judged.plan).cost_ms, judged.cost_ms);
}

}  // namespace
}  // namespace neuroshard::bench
