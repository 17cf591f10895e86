// A layout says all that a plan's cost depends on.
#include <gtest/gtest.h>

#include "neuroshard/simulator.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::cpu_backend_of;
using testing::drawn_tasks;
using testing::Layout;
using testing::layout_of;
using testing::random_halvings;
using testing::random_models;
using testing::random_task;

void expect_same_bits(const PlanCost& a, const PlanCost& b) {
  EXPECT_EQ(a.cost_ms, b.cost_ms);
  EXPECT_EQ(a.fits_memory, b.fits_memory);
  EXPECT_EQ(a.warning, b.warning);
  ASSERT_EQ(a.devices.size(), b.devices.size());
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    EXPECT_EQ(a.devices[d].compute_ms, b.devices[d].compute_ms);
    EXPECT_EQ(a.devices[d].forward_ms, b.devices[d].forward_ms);
    EXPECT_EQ(a.devices[d].backward_ms, b.devices[d].backward_ms);
    EXPECT_EQ(a.devices[d].memory_bytes, b.devices[d].memory_bytes);
    EXPECT_EQ(a.devices[d].dim_sum, b.devices[d].dim_sum);
    EXPECT_EQ(a.devices[d].slices, b.devices[d].slices);
  }
}

TEST(Layout, OfAPlanCostsWhatThePlanCosts) {
  const CpuBackend backend = cpu_backend_of(random_models(21));
  std::mt19937_64 random(1);
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(300))) {
    const Task task = random_task(seed);
    const PieceCatalog catalog(backend, task);
    const Plan plan = plan_from_halvings(task, random_halvings(task, random));
    const PlanCost expected = simulate(backend, task, plan);
    const Layout layout = layout_of(catalog, plan);
    expect_same_bits(cost_of(backend, catalog, task, layout), expected);
  }
}

}  // namespace
}  // namespace neuroshard
