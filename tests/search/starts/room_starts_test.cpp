#include "search/starts/room_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "core/tables/table_groups.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using ::testing::IsEmpty;
using testing::plain_table;
using testing::repetitions;

RoomStarts starts_of(const Task& task, bool any_ways = true, const StopCondition& stop = {}) {
  return starts_for_room(*make_cpu_backend(builtin_weights()), with_rules_of_groups(task), false,
                         any_ways, stop);
}

/// Tables of three units of columns and a device for each half more of one.
Task thirds(int tables, std::int64_t units_of_device) {
  Task task;
  task.devices = 2;
  for (int i = 0; i < tables; ++i) task.tables.push_back(plain_table(1000, 12, 1.0));
  task.memory_bytes = units_of_device * 1000 * 4 * 4;
  return task;
}

TEST(RoomStarts, AreValidPlans) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    Task task = testing::random_task(seed);
    Random random(seed, 92);
    if (seed % 3 == 1) testing::add_random_rules(task, random);
    if (seed % 3 == 2) testing::add_random_groups(task, 2, random);
    const bool any_ways = seed % 2 == 0;
    for (const Plan& plan : starts_of(task, any_ways).plans) {
      ++found;
      EXPECT_THAT(check_plan(plan, task), IsEmpty());
      EXPECT_TRUE(any_ways || (plan.replicas.empty() && !has_row_blocks(task, plan)));
    }
  }
  EXPECT_GT(found, 0);
}

TEST(RoomStarts, AreInOtherWaysOnlyWhereHalvesHaveNoRoom) {
  const RoomStarts whole = starts_of(thirds(2, 3));
  ASSERT_FALSE(whole.plans.empty());
  EXPECT_FALSE(whole.impossible);
  EXPECT_EQ(whole.plans.front().slices.size(), 2U);

  // 12 columns have no halves that are multiples of 4.
  const Task odd = thirds(1, 2);
  const RoomStarts by_columns = starts_of(odd, false);
  EXPECT_THAT(by_columns.plans, IsEmpty());
  EXPECT_TRUE(by_columns.impossible);
  const RoomStarts any = starts_of(odd);
  ASSERT_EQ(any.plans.size(), 1U);
  EXPECT_THAT(check_plan(any.plans.front(), odd), IsEmpty());
}

TEST(RoomStarts, AreMadeForTablesThatMayNotBeInColumns) {
  Task task = thirds(2, 5);
  task.tables.front().rules.kinds = {ShardingKind::kRow};
  EXPECT_THAT(starts_of(task, false).plans, IsEmpty());
  const RoomStarts any = starts_of(task);
  ASSERT_EQ(any.plans.size(), 1U);
  EXPECT_THAT(check_plan(any.plans.front(), task), IsEmpty());
  EXPECT_TRUE(has_row_blocks(task, any.plans.front()));
}

TEST(RoomStarts, AreNoneAtAStop) {
  const RoomStarts stopped = starts_of(thirds(1, 2), true, StopCondition([] { return true; }));
  EXPECT_THAT(stopped.plans, IsEmpty());
  EXPECT_FALSE(stopped.impossible);
}

}  // namespace
}  // namespace neuroshard
