#include "search/starts/ruled_packings.h"

#include <gtest/gtest.h>

#include "plain_table.h"
#include "random_tasks.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

// A table of 32 units on devices that have room for a unit and a half each.
TightPackings pack_wide_table(int devices) {
  Task task;
  task.devices = devices;
  task.tables.push_back(testing::plain_table(1'000'000, 128, 1.0));
  task.memory_bytes = task.tables.front().size_bytes() / 32 * 3 / 2;
  const CpuBackend backend = testing::cpu_backend_of(testing::random_models(1));
  const testing::CatalogedTask cataloged(backend, task);
  return pack_under_rules(cataloged.catalog, cataloged.task, &cataloged.task, false, {});
}

// Devices have room for 45 units together, and for 30 by whole units: which of them hold none would
// take too long to try.
TEST(RuledPackings, AProofCountsWholeUnits) {
  const TightPackings packings = pack_wide_table(30);
  EXPECT_TRUE(packings.layouts.empty());
  EXPECT_TRUE(packings.impossible);
}

TEST(RuledPackings, AsManyDevicesAsUnitsAreEnough) {
  const TightPackings packings = pack_wide_table(32);
  ASSERT_FALSE(packings.layouts.empty());
  EXPECT_EQ(packings.layouts.front().size(), 32U);
}

}  // namespace
}  // namespace neuroshard
