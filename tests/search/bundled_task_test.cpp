#include "search/bundled_task.h"

#include <gmock/gmock.h>

#include "neuroshard/simulator.h"
#include "neuroshard/weights.h"
#include "search/apart_devices.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Five tables of 4, 8, 12, ... columns.
Task five_tables() {
  Task task;
  for (int t = 0; t < 5; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 1000 + t;
    table.dim = 4 * (t + 1);
    table.pooling_factor = 1.5 * t;
    table.access_histogram[static_cast<std::size_t>(t)] = 1.0;
    table.memory = {WeightType::kFp16, Optimizer::kRowwiseAdagrad, 4096};
  }
  task.devices = 3;
  task.memory_bytes = 10'000'000;
  task.groups = {{.name = "", .tables = {4, 1}, .keep = Keep::kTogether},
                 {.name = "x", .tables = {4, 0, 3}, .keep = Keep::kApart}};
  return task;
}

TEST(BundledTask, OfATaskWithoutGroupsIsTheSameInAnotherOrder) {
  Task task = five_tables();
  task.groups.clear();
  const BundledTask bundled(task, std::vector<std::uint32_t>{3, 1, 0, 4, 2});
  EXPECT_THAT(bundled.original, ElementsAre(3, 1, 0, 4, 2));
  EXPECT_THAT(bundled.bundles, IsEmpty());
  EXPECT_THAT(bundled.task.groups, IsEmpty());
}

TEST(BundledTask, BundlesHaveThePlaceOfTheirFirstTableAndStandForAllOfThem) {
  Task task = five_tables();
  task.tables[1].rules.not_devices = {0};
  const BundledTask bundled(task);
  EXPECT_THAT(bundled.original, ElementsAre(0, 1, 2, 3));
  ASSERT_EQ(bundled.bundles.size(), 1U);
  EXPECT_EQ(bundled.bundles[0].table, 1U);
  EXPECT_THAT(bundled.bundles[0].listed, ElementsAre(1, 4));
  const Table& bundle = bundled.task.tables[1];
  EXPECT_EQ(bundle.dim, 8 + 20);
  EXPECT_DOUBLE_EQ(bundle.dim * bundle.pooling_factor, 8 * 1.5 + 20 * 6.0);
  const std::int64_t bytes = task.tables[1].size_bytes() + task.tables[4].size_bytes();
  EXPECT_GE(bundle.size_bytes(), bytes);
  EXPECT_LT(bundle.size_bytes(), bytes + 4 * bundle.dim);
  EXPECT_TRUE(bundle.rules.no_split);
  EXPECT_THAT(bundle.rules.devices, ElementsAre(1, 2));
  ASSERT_EQ(bundled.task.groups.size(), 1U);
  EXPECT_THAT(bundled.task.groups[0].tables, ElementsAre(1, 0, 3));
  // Starts have rules on devices instead.
  const Task starts = with_devices_of_apart_tables(bundled.task).value();
  EXPECT_THAT(starts.groups, IsEmpty());
  std::vector<int> all;
  for (const std::size_t t : {0, 1, 3}) {
    const std::vector<int>& devices = starts.tables[t].rules.devices;
    EXPECT_FALSE(devices.empty());
    all.insert(all.end(), devices.begin(), devices.end());
  }
  EXPECT_THAT(all, ::testing::UnorderedElementsAre(0, 1, 2));
}

TEST(BundledTask, PlansAreOfTheListedTask) {
  const Task task = five_tables();
  const BundledTask bundled(task, std::vector<std::uint32_t>{4, 3, 2, 1, 0});
  // Bundle, table 3 in halves, table 2, table 0.
  Plan plan{.slices = whole_tables(bundled.task), .shards = {{2, 0}, {4, 1}, {3}}};
  plan.slices[1].dim = 8;
  plan.slices.push_back({1, 8, 8, 0, 1003});
  const Plan of_listed = bundled.plan_of_listed(plan);
  EXPECT_THAT(of_listed.slices,
              ElementsAre(TableSlice{4, 0, 20, 0, 1004}, TableSlice{1, 0, 8, 0, 1001},
                          TableSlice{3, 0, 8, 0, 1003}, TableSlice{2, 0, 12, 0, 1002},
                          TableSlice{0, 0, 4, 0, 1000}, TableSlice{3, 8, 8, 0, 1003}));
  EXPECT_THAT(of_listed.shards,
              ElementsAre(ElementsAre(3, 0, 1), ElementsAre(5, 2), ElementsAre(4)));
  validate(of_listed, task);
}

TEST(BundledTask, PiecesOfBundlesCostWhatTheirTablesCostTogether) {
  const CpuBackend cpu = testing::cpu_backend_of(builtin_weights());
  const Task task = five_tables();
  const BundledTask bundled(task);
  PieceCatalog catalog(bundled.task, cpu.table_features(), &bundled);
  PieceCatalog::embed(cpu, {&catalog, 1});
  catalog.require_costs();
  const std::uint32_t bundle = catalog.whole(1);
  EXPECT_EQ(catalog.dim(bundle), 28);
  EXPECT_FALSE(catalog.can_split(bundle));
  EXPECT_EQ(catalog.size_bytes(bundle), task.tables[1].size_bytes() + task.tables[4].size_bytes());
  const PlanCost alone =
      simulate(cpu, task, {.slices = whole_tables(task), .shards = {{1, 4}, {0, 2, 3}, {}}});
  EXPECT_EQ(static_cast<float>(alone.devices[0].compute_ms), catalog.cost_ms(bundle));
}

}  // namespace
}  // namespace neuroshard
