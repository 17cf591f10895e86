// Whole plans of public models' tables: what the built-in weights predict, against the analytic
// costs that they were trained on.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "bench/plan_accuracy.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"

namespace neuroshard::bench {
namespace {

const std::vector<Task>& table_sets() {
  static const std::vector<Task> sets = [] {
    std::vector<Task> all;
    for (const auto& entry : std::filesystem::directory_iterator(NEUROSHARD_TABLE_SETS)) {
      if (entry.path().extension() != ".json") continue;
      std::vector<Table> tables = load_task(entry.path()).tables;
      // Thousands of tables take long, and each device gets some of them as it does of hundreds.
      if (tables.size() > 600) continue;
      all.push_back(
          {.tables = std::move(tables), .devices = 0, .memory_bytes = bytes_from_gib(40)});
    }
    return all;
  }();
  return sets;
}

class WholePlans : public ::testing::TestWithParam<int> {};

// Balanced plans of slices as narrow as 4 columns, plans of whole tables, and plans that leave half
// of the devices empty.
TEST_P(WholePlans, ArePredictedWithinThreePercent) {
  const auto backend = make_cpu_backend(builtin_weights());
  PlanAccuracy accuracy;
  for (Task task : table_sets()) {
    task.devices = GetParam();
    for (const int width : {4, 32, 256}) {
      for (const int used_devices : {task.devices, task.devices / 2}) {
        const auto plan = uniform_width_plan(task, width, used_devices);
        if (plan) accuracy.add(*backend, task, *plan);
      }
    }
  }
  ASSERT_GT(accuracy.plans(), 30U);
  EXPECT_LE(accuracy.mape(), 0.03);
  EXPECT_LE(std::abs(accuracy.bias()), 0.02);
}

// The communication model was not trained on 11, 20, 72, 100, 200, 384, 600, 768 and 1,000 devices.
INSTANTIATE_TEST_SUITE_P(DeviceCounts, WholePlans,
                         ::testing::Values(2, 4, 8, 11, 16, 20, 32, 40, 64, 72, 100, 128, 200, 256,
                                           384, 512, 600, 768, 1000, 1024));

}  // namespace
}  // namespace neuroshard::bench
