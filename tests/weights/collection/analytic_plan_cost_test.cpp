#include "weights/collection/analytic_plan_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "message_of.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;

Task three_tables() {
  Task task{.devices = 3, .memory_bytes = bytes_from_gib(1.0)};
  for (int i = 0; i < 3; ++i) {
    task.tables.push_back({.name = "",
                           .rows = 100'000,
                           .dim = 64,
                           .pooling_factor = 10.0 + 5.0 * i,
                           .access_histogram = {0.5, 0.5}});
  }
  return task;
}

Plan one_table_each(const Task& task) {
  return {.slices = whole_tables(task), .shards = {{0}, {1}, {2}}};
}

TEST(AnalyticPlanCost, DevicesComputeAtTheirSpeed) {
  const GpuSpec& gpu = gpu_named("a100-sxm-80gb");
  const NetworkSpec& network = network_named("a100-nvlink3-hdr");
  Task task = three_tables();
  const Plan plan = one_table_each(task);
  const PlanCost equal = analytic_plan_cost(gpu, network, task, plan);
  task.device_list.assign(3, {.memory_bytes = task.memory_bytes});
  task.device_list[1].speed = 2.0;
  task.device_list[2] = {.memory_bytes = task.memory_bytes, .base_ms = 1.0, .speed = 0.5};
  const PlanCost cost = analytic_plan_cost(gpu, network, task, plan);
  EXPECT_EQ(cost.devices[0].compute_ms, equal.devices[0].compute_ms);
  EXPECT_DOUBLE_EQ(cost.devices[1].compute_ms, equal.devices[1].compute_ms / 2.0);
  EXPECT_DOUBLE_EQ(cost.devices[2].compute_ms, equal.devices[2].compute_ms * 2.0 + 1.0);
  EXPECT_EQ(cost.devices[1].backward_ms, equal.devices[1].backward_ms);
}

TEST(AnalyticPlanCost, ExchangesHaveTheTypesOfTheTask) {
  const GpuSpec& gpu = gpu_named("a100-sxm-80gb");
  const NetworkSpec& network = network_named("a100-nvlink3-hdr");
  Task task = three_tables();
  const Plan plan = one_table_each(task);
  const auto cost_of = [&](const ExchangeTypes& types) {
    task.exchange = types;
    return analytic_plan_cost(gpu, network, task, plan).devices[0];
  };
  const DeviceCost usual = cost_of({});
  const DeviceCost narrow = cost_of({.forward = WireType::kFp16, .backward = WireType::kBf16});
  EXPECT_EQ(narrow.compute_ms, usual.compute_ms);
  EXPECT_EQ(narrow.memory_bytes, usual.memory_bytes);
  EXPECT_LT(narrow.forward_ms, usual.forward_ms);
  EXPECT_LT(narrow.backward_ms, usual.backward_ms);
  // Ids are whole columns of gradients, which are less here.
  EXPECT_NEAR(narrow.ids_ms, usual.ids_ms, 0.02 * usual.ids_ms);
  const DeviceCost short_ids = cost_of({.ids = WireType::kInt32});
  EXPECT_EQ(short_ids.backward_ms, usual.backward_ms);
  EXPECT_LT(short_ids.ids_ms, usual.ids_ms);
}

TEST(AnalyticPlanCost, HeedsWhatRunsBesideWhat) {
  const GpuSpec& gpu = gpu_named("a100-sxm-80gb");
  const NetworkSpec& network = network_named("a100-nvlink3-hdr");
  Task task = three_tables();
  const Plan plan = one_table_each(task);
  const PlanCost sum = analytic_plan_cost(gpu, network, task, plan);
  task.overlap = {.ids = true, .dense_ms = 1.5, .dense_beside_gradients_ms = 1000.0};
  const PlanCost cost = analytic_plan_cost(gpu, network, task, plan);
  // All devices take as long for gradients.
  const double dense_ms = 1.5 + 1000.0 - sum.devices[0].backward_ms;
  for (std::size_t d = 0; d < cost.devices.size(); ++d) {
    EXPECT_NEAR(cost.devices[d].dense_ms, dense_ms, 1e-9);
    EXPECT_EQ(cost.devices[d].hidden_ms, sum.devices[d].ids_ms);
  }
  EXPECT_NEAR(cost.cost_ms, sum.cost_ms - sum.devices[0].ids_ms + dense_ms, 1e-9);
  task.overlap.host_ms = 5000.0;
  EXPECT_EQ(analytic_plan_cost(gpu, network, task, plan).cost_ms, 5000.0);
}

TEST(AnalyticPlanCost, ReplicasMayGatherTouchedRows) {
  const GpuSpec& gpu = gpu_named("a100-sxm-80gb");
  const NetworkSpec& network = network_named("a100-nvlink3-hdr");
  Task task = three_tables();
  task.batch_size = 1024;
  const Plan plan{.slices = {{0, 0, 64, 0, 100'000}, {1, 0, 64, 0, 100'000}},
                  .shards = {{0}, {1}, {}},
                  .replicas = {2}};
  const PlanCost dense = analytic_plan_cost(gpu, network, task, plan);
  EXPECT_EQ(dense.devices[0].all_reduce_ms,
            analytic_all_reduce(gpu, network, 3, 4.0 * 64 * 100'000));
  task.tables[2].replica_gradients = ReplicaGradients::kTouched;
  const PlanCost touched = analytic_plan_cost(gpu, network, task, plan);
  const std::array<const Table*, 1> gathered = {&task.tables[2]};
  EXPECT_EQ(touched.devices[0].all_reduce_ms,
            analytic_replica_update(gpu, network, 3, TouchedGradients(task).update(gathered)));
  EXPECT_LT(touched.devices[0].all_reduce_ms, dense.devices[0].all_reduce_ms);
  EXPECT_EQ(touched.devices[1].compute_ms, dense.devices[1].compute_ms);
  EXPECT_LT(touched.devices[1].memory_bytes, dense.devices[1].memory_bytes);
}

TEST(AnalyticPlanCost, DevicesMayBeDifferentGpus) {
  const NetworkSpec& network = network_named("a100-nvlink3-hdr");
  const GpuSpec& slow = gpu_named("a100-sxm-80gb");
  const GpuSpec& fast = gpu_named("h100-sxm-80gb");
  Task task = three_tables();
  const Plan plan = one_table_each(task);
  const PlanCost all_slow = analytic_plan_cost(slow, network, task, plan);
  const PlanCost all_fast = analytic_plan_cost(fast, network, task, plan);
  task.device_list.assign(3, {.memory_bytes = task.memory_bytes, .base_ms = 0.25, .speed = 9.0});
  const std::vector<GpuSpec> gpus = {slow, fast, fast};
  const PlanCost mixed = analytic_plan_cost(gpus, network, task, plan);
  EXPECT_EQ(mixed.devices[0].compute_ms, all_slow.devices[0].compute_ms + 0.25);
  EXPECT_EQ(mixed.devices[1].compute_ms, all_fast.devices[1].compute_ms + 0.25);
  EXPECT_EQ(mixed.devices[2].compute_ms, all_fast.devices[2].compute_ms + 0.25);
  EXPECT_LT(all_fast.devices[2].compute_ms, all_slow.devices[2].compute_ms);
  EXPECT_THAT(testing::message_of(
                  [&] { (void)analytic_plan_cost(std::span(gpus).first(2), network, task, plan); }),
              HasSubstr("there are 2 GPUs for 3 devices"));
}

}  // namespace
}  // namespace neuroshard
