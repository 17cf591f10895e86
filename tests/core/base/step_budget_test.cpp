#include "core/base/step_budget.h"

#include <gtest/gtest.h>

namespace neuroshard {
namespace {

TEST(StepBudget, IsSpentAfterItsSteps) {
  const StopCondition never;
  StepBudget budget(1000, never);
  EXPECT_TRUE(budget.take(999));
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  EXPECT_TRUE(budget.spent());
  EXPECT_FALSE(budget.take());
  EXPECT_EQ(budget.taken(), 1001U);  // Only the first refused step is counted.
}

TEST(StepBudget, LooksAtTheStopConditionFirstAndThenEverySoManySteps) {
  std::uint64_t looks = 0;
  const StopCondition counting([&] {
    ++looks;
    return false;
  });
  StepBudget budget(StepBudget::kAnySteps, counting);
  EXPECT_TRUE(budget.take());
  EXPECT_EQ(looks, 1U);
  constexpr std::uint64_t kRounds = 10;
  for (std::uint64_t step = 0; step < kRounds * StepBudget::kStepsBetweenLooks; ++step) {
    EXPECT_TRUE(budget.take());
  }
  EXPECT_EQ(looks, 1 + kRounds);
}

TEST(StepBudget, IsSpentAtTheStop) {
  std::uint64_t looks = 0;
  const StopCondition third([&] { return ++looks == 3; });
  StepBudget budget(StepBudget::kAnySteps, third);
  std::uint64_t steps = 0;
  while (budget.take()) ++steps;
  EXPECT_EQ(steps, 2 * StepBudget::kStepsBetweenLooks);
  EXPECT_FALSE(budget.take());
  EXPECT_EQ(looks, 3U);  // It is not asked again.
}

}  // namespace
}  // namespace neuroshard
