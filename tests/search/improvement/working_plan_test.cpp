// A plan under random edits, held against one that is put together from nothing.
#include "search/improvement/working_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "random_tasks.h"
#include "repetitions.h"
#include "search/improvement/edit_source.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::columns_of;
using testing::cpu_backend_of;
using testing::random_layout;
using testing::random_models;
using testing::random_task;
using testing::repetitions;

CriticalDevices random_devices(const Task& task, std::mt19937_64& random) {
  const auto device = [&] {
    return static_cast<std::uint32_t>(random() % static_cast<unsigned>(task.devices));
  };
  return {.slowest = device(), .last_ready = device(), .widest = device()};
}

void expect_consistent(const CatalogedTask& cataloged, const WorkingPlan& plan) {
  const PieceCatalog& catalog = cataloged.catalog;
  const Layout& layout = plan.layout();
  std::vector<std::vector<std::uint32_t>> on(plan.devices());
  std::vector<std::vector<std::uint32_t>> of(catalog.tables());
  std::vector<std::int64_t> dim_sums(plan.devices());
  std::vector<std::int64_t> memory(plan.devices());
  for (std::uint32_t i = 0; i < layout.size(); ++i) {
    on[layout[i].device].push_back(i);
    of[layout[i].table].push_back(i);
    dim_sums[layout[i].device] += catalog.dim(layout[i].piece);
    memory[layout[i].device] += catalog.size_bytes(layout[i].piece);
    // The piece is one of this table's.
    const std::uint32_t whole = catalog.whole(layout[i].table);
    ASSERT_GE(layout[i].piece, whole);
    ASSERT_EQ(catalog.dim(layout[i].piece) << (layout[i].piece - whole), catalog.dim(whole));
  }
  for (std::uint32_t table = 0; table < catalog.tables(); ++table) {
    ASSERT_EQ(columns_of(catalog, layout, table), cataloged.task.tables[table].dim);
    ASSERT_THAT(plan.of_table(table), ::testing::UnorderedElementsAreArray(of[table]));
  }
  for (std::uint32_t device = 0; device < plan.devices(); ++device) {
    ASSERT_THAT(plan.on_device(device), ::testing::UnorderedElementsAreArray(on[device]));
    ASSERT_EQ(plan.dim_sum(device), dim_sums[device]);
    ASSERT_EQ(plan.memory(device), memory[device]);
  }
}

void expect_near(const float* actual, const float* expected, std::size_t width) {
  float largest = 0.0F;
  for (std::size_t i = 0; i < width; ++i) largest = std::max(largest, std::abs(expected[i]));
  for (std::size_t i = 0; i < width; ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-5F * (largest + 1.0F)) << i;
  }
}

TEST(WorkingPlan, StaysTrueUnderEdits) {
  const CpuBackend backend = cpu_backend_of(random_models(41));
  std::mt19937_64 random(41);
  std::uint64_t edits = 0;
  for (std::uint64_t seed = 0; seed < repetitions(40); ++seed) {
    SCOPED_TRACE(seed);
    const CatalogedTask cataloged(backend, random_task(seed));
    const std::size_t width = cataloged.catalog.embedding_width();
    WorkingPlan plan(cataloged.catalog, cataloged.task.devices,
                     random_layout(cataloged, 2.0, random));
    expect_consistent(cataloged, plan);
    EditSource source(plan, Halves::kJoined, 1, seed);
    std::vector<float> sums(2 * width);
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE(step);
      const auto edit = source.draw(random_devices(cataloged.task, random));
      if (!edit) continue;
      const WorkingPlan::Outcome outcome = plan.outcome(*edit, sums.data());
      plan.apply(*edit);
      ++edits;
      expect_consistent(cataloged, plan);
      if (HasFatalFailure()) return;
      for (std::size_t side = 0; side < 2; ++side) {
        const std::uint32_t device = edit->device(side);
        EXPECT_EQ(outcome.dim_sum[side], plan.dim_sum(device));
        EXPECT_EQ(outcome.memory[side], plan.memory(device));
        EXPECT_EQ(outcome.empty[side], plan.on_device(device).empty());
        // Those of the shard before are part of the outcome's rounding.
        expect_near(sums.data() + side * width, plan.sum(device), width);
      }
    }
    // Sums are what a plan that starts here has.
    const WorkingPlan again(cataloged.catalog, cataloged.task.devices, plan.layout());
    for (std::uint32_t device = 0; device < plan.devices(); ++device) {
      expect_near(plan.sum(device), again.sum(device), width);
    }
  }
  EXPECT_GT(edits, repetitions(40) * 100);
}

TEST(WorkingPlan, TakesEditsThatRemoveMoreThanTheyAddAndTheReverse) {
  Task task;
  task.devices = 2;
  task.memory_bytes = 1'000'000'000;
  for (const int rows : {1000, 2000}) {
    Table& table = task.tables.emplace_back();
    table.rows = rows;
    table.dim = 32;
    table.pooling_factor = 1.0;
    table.access_histogram[0] = 1.0;
  }
  const CpuBackend backend = cpu_backend_of(random_models(42));
  const CatalogedTask cataloged(backend, task);
  const std::uint32_t whole = cataloged.catalog.whole(0);
  const std::uint32_t quarter = whole + 2;
  const PlacedSlice other{cataloged.catalog.whole(1), 1, 1};
  // In every order: the numbers that become free are at the front, at the end, in the middle.
  Layout slices = {{quarter, 0, 0}, {quarter, 0, 0}, {quarter, 0, 1}, {quarter, 0, 1}, other};
  std::sort(slices.begin(), slices.end());
  do {
    WorkingPlan plan(cataloged.catalog, task.devices, slices);
    PlanEdit join(0, 1);
    for (std::uint32_t i = 0; i < slices.size(); ++i) {
      if (slices[i].table == 0) join.remove(i);
    }
    join.add({whole, 0, 1});
    plan.apply(join);
    EXPECT_THAT(plan.layout(), ::testing::UnorderedElementsAre(PlacedSlice{whole, 0, 1}, other));
    expect_consistent(cataloged, plan);

    PlanEdit halve(0, 1);
    halve.remove(plan.of_table(0)[0]);
    halve.add({whole + 1, 0, 0});
    halve.add({whole + 2, 0, 1});
    halve.add({whole + 2, 0, 0});
    plan.apply(halve);
    EXPECT_EQ(plan.layout().size(), 4U);
    expect_consistent(cataloged, plan);
  } while (std::next_permutation(slices.begin(), slices.end()));
}

}  // namespace
}  // namespace neuroshard
