// A task that fails does not cost the others of its batch.
#include <gmock/gmock.h>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/planner.h"

namespace neuroshard {
namespace {

using testing::golden_models;
using testing::golden_task;
using ::testing::HasSubstr;
using testing::message_of;

class PlanBatch : public ::testing::TestWithParam<Algorithm> {};

// A task of each kind that fails, and one that cannot fit, among good ones.
std::vector<Task> some_bad_tasks() {
  std::vector<Task> tasks;
  for (int i = 0; i < 7; ++i) tasks.push_back(golden_task("2gpu_dim64", i));
  tasks[1].tables[2].dim = 30;
  tasks[3].devices = 7;
  tasks[4].memory_bytes = 1000;
  return tasks;
}

TEST_P(PlanBatch, HasAnOutcomeForEachTask) {
  const std::vector<Task> tasks = some_bad_tasks();
  for (const int threads : {1, 3}) {
    SCOPED_TRACE(threads);
    const Planner planner(golden_models(),
                          {.algorithm = GetParam(), .effort = Effort::kFast, .threads = threads});
    const std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks);
    ASSERT_EQ(outcomes.size(), tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      SCOPED_TRACE(i);
      const bool bad = i == 1 || i == 3;
      ASSERT_EQ(outcomes[i].has_value(), !bad);
      if (bad) {
        EXPECT_EQ(outcomes[i].error().what(),
                  message_of([&] { (void)planner.plan(tasks[i]); }, ErrorKind::kInvalidInput));
        EXPECT_EQ(message_of([&] { (void)outcomes[i].value(); }), outcomes[i].error().what());
        continue;
      }
      const PlanResult expected = planner.plan(tasks[i]);
      EXPECT_EQ(outcomes[i]->plan, expected.plan);
      EXPECT_EQ(outcomes[i]->cost.cost_ms, expected.cost.cost_ms);
      EXPECT_EQ(outcomes[i]->infeasible.has_value(), i == 4);
    }
    EXPECT_THAT(outcomes[1].error().what(), HasSubstr("table 2"));
    EXPECT_THAT(outcomes[3].error().what(), HasSubstr("7"));
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PlanBatch,
                         ::testing::Values(Algorithm::kNeuroshard, Algorithm::kPublished,
                                           Algorithm::kUniform),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(PlanBatch, ThrowsWhatIsWrongWithTheRequest) {
  const Planner planner(golden_models());
  EXPECT_THAT(message_of([&] { (void)planner.plan_batch({}, {.alternatives = -1}); }),
              HasSubstr("alternatives"));
  EXPECT_TRUE(planner.plan_batch({}).empty());
}

}  // namespace
}  // namespace neuroshard
