// Tests what a planner says of plans that its models were not trained on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"

namespace neuroshard {
namespace {

using testing::golden_task;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PlannerWarnings, SayWhatTheModelsWereNotTrainedOn) {
  CostModels models = builtin_weights();
  std::erase_if(models.metadata,
                [](const auto& entry) { return entry.first.find(".range.") != std::string::npos; });
  const Task task = golden_task("4gpu_dim64", 0);
  const auto warning_of = [&](const PlannerOptions& options) {
    const Planner planner(models, options);
    const PlanResult result = planner.plan(task, {.alternatives = 2});
    if (!result.plan) return std::string("no plan");
    EXPECT_EQ(planner.simulate(task, *result.plan).warning, result.cost.warning);
    EXPECT_EQ(planner.plan_batch({&task, 1})[0]->cost.warning, result.cost.warning);
    for (const CostedPlan& other : result.alternatives) {
      EXPECT_EQ(other.cost.warning.empty(), result.cost.warning.empty());
    }
    return result.cost.warning;
  };
  const PlannerOptions fast{.effort = Effort::kFast, .threads = 1};
  EXPECT_THAT(warning_of(fast), IsEmpty());
  models.metadata["compute.range.row"] = "1 to 10";
  EXPECT_THAT(warning_of(fast), HasSubstr("trained on rows from 1 to 10, but table "));
  EXPECT_THAT(warning_of({.algorithm = Algorithm::kSizeGreedy}), HasSubstr("rows from 1 to 10"));
  models.metadata["compute.range.row"] = "many";
  EXPECT_THROW(Planner(models, fast), Error);
}

TEST(PlannerWarnings, BuiltInWeightsKnowTheirRanges) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  Task task = golden_task("4gpu_dim64", 0);
  EXPECT_THAT(planner.plan(task).cost.warning, IsEmpty());
  task.tables[5].pooling_factor = 1e6;
  EXPECT_THAT(planner.plan(task).cost.warning, HasSubstr("pooling factors from"));
}

}  // namespace
}  // namespace neuroshard
