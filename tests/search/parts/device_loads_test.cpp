#include "search/parts/device_loads.h"

#include <gmock/gmock.h>

#include "core/base/random.h"
#include "neuroshard/backend.h"
#include "neuroshard/simulator.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "search/parts/even_blocks.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::repetitions;

std::unique_ptr<Backend> scalar_backend() {
  return make_cpu_backend(builtin_weights(), {.name = "scalar"});
}

Task task_of_tables(std::size_t tables, int devices) {
  Task task;
  task.devices = devices;
  task.memory_bytes = std::int64_t{1} << 32;
  for (std::size_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 100'000 + static_cast<std::int64_t>(t);
    table.dim = 32;
    table.pooling_factor = 5.0;
    table.access_histogram[1] = 1.0;
  }
  return task;
}

/// All tables in equal blocks of rows on all devices.
Plan row_wise_plan(const Task& task) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (const TableSlice& slice : whole_tables(task)) {
    add_blocks(plan, task, slice, 0, task.devices);
  }
  return plan;
}

TEST(DeviceLoads, OfEqualDevicesAreThatOfTheFullest) {
  const Task task = task_of_tables(2, 3);
  Plan plan{.slices = {{0, 0, 32, 0, task.tables[0].rows}}, .shards = {{}, {0}, {}}};
  plan.replicas = {1};
  const DeviceLoads loads = loads_of_devices(*scalar_backend(), task, plan);
  const std::int64_t bytes = task.tables[0].size_bytes() + replica_memory(task, 1).total_bytes();
  EXPECT_THAT(loads.bytes, ElementsAre(bytes, bytes, bytes));
  EXPECT_THAT(loads.compute_ms, IsEmpty());
}

TEST(DeviceLoads, OfReplicasAreMemoryAlone) {
  Task task = task_of_tables(2, 2);
  task.device_list = {{.memory_bytes = task.memory_bytes},
                      {.memory_bytes = task.memory_bytes, .speed = 2.0}};
  const Plan plan{.slices = {}, .shards = {{}, {}}, .replicas = {0}};
  const DeviceLoads loads = loads_of_devices(*scalar_backend(), task, plan);
  const std::int64_t bytes = replica_memory(task, 0).total_bytes();
  EXPECT_THAT(loads.bytes, ElementsAre(bytes, bytes));
  EXPECT_THAT(loads.compute_ms, ElementsAre(0.0, 0.0));
}

// The simulator says what the same slices cost that nothing else is beside.
TEST(DeviceLoads, OfSlicesAreWhatTheSimulatorCounts) {
  const std::unique_ptr<Backend> backend = scalar_backend();
  for (std::uint64_t seed = 0; seed < repetitions(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 61);
    Task task = task_of_tables(1 + random.below(5), 2 + static_cast<int>(random.below(6)));
    if (random.below(2) == 0) task.tables.front().row_shares = {0.7, 0.2, 0.1};
    testing::add_random_devices(task, random);
    task.device_list.front().speed = 3.0;  // Not all equal.
    task.device_list.front().base_ms = 0.0;
    const Plan plan = row_wise_plan(task);
    const DeviceLoads loads = loads_of_devices(*backend, task, plan);
    const PlanCost cost = simulate(*backend, task, plan);
    // A device without slices computes what no table takes.
    Plan on_one{.slices = whole_tables(task), .shards = {}};
    on_one.shards.resize(plan.shards.size());
    for (int slice = 0; slice < static_cast<int>(task.tables.size()); ++slice) {
      on_one.shards.back().push_back(slice);
    }
    const DeviceCost empty = simulate(*backend, task, on_one).devices.front();
    const double no_table_ms = (empty.compute_ms - empty.base_ms) * empty.speed;
    bool fits = true;
    for (std::size_t d = 0; d < plan.shards.size(); ++d) {
      const DeviceCost& device = cost.devices[d];
      const double tables_ms = device.compute_ms - device.base_ms - no_table_ms / device.speed;
      EXPECT_NEAR(loads.compute_ms[d], tables_ms, 1e-5 * (device.compute_ms + no_table_ms)) << d;
      EXPECT_EQ(loads.bytes[d], device.memory_bytes) << d;
      fits &= device.free_bytes >= 0;
    }
    EXPECT_EQ(has_room_for(task, loads), fits);
  }
}

TEST(DeviceLoads, LeaveRoomBesideThemIfAnyDeviceHasMore) {
  Task task = task_of_tables(1, 2);
  task.device_list = {{.memory_bytes = 100}, {.memory_bytes = 200, .base_bytes = 50}};
  const auto of = [](std::int64_t first, std::int64_t second) {
    return DeviceLoads{.bytes = {first, second}, .compute_ms = {0.0, 0.0}};
  };
  EXPECT_TRUE(has_room_beside(task, of(99, 150)));
  EXPECT_TRUE(has_room_for(task, of(100, 150)));
  EXPECT_FALSE(has_room_beside(task, of(100, 150)));
  EXPECT_FALSE(has_room_for(task, of(50, 151)));
}

}  // namespace
}  // namespace neuroshard
