// Planners and the process that they live in: threads that cannot start, fork, exit, and moves.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <utility>

#include "few_threads.h"
#include "message_of.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;

// Fifty tables, so that more than one thread has something to do.
Task task_for_threads() {
  Task task;
  for (int i = 0; i < 50; ++i) {
    Table table{.rows = 100'000 + 1000 * i, .dim = 64, .pooling_factor = 1.0 + i};
    table.access_histogram[0] = 1.0;
    task.tables.push_back(table);
  }
  task.devices = 4;
  task.memory_bytes = bytes_from_gib(4.0);
  return task;
}

TEST(PlannerInProcess, MovedFromItRefusesWork) {
  const Task task = task_for_threads();
  Planner planner(random_models(1));
  const Planner other(std::move(planner));
  const PlanResult result = other.plan(task);
  // NOLINTBEGIN(bugprone-use-after-move): what is tested.
  for (const auto& use :
       {std::function<void()>([&] { (void)planner.plan(task); }), std::function<void()>([&] {
          (void)planner.plan_batch({&task, 1});
        }),
        std::function<void()>([&] { (void)planner.simulate(task, *result.plan); }),
        std::function<void()>([&] { (void)planner.backend(); })}) {
    EXPECT_THAT(message_of(use), HasSubstr("moved from"));
  }
  planner = Planner(random_models(1));
  EXPECT_EQ(planner.plan(task).plan, result.plan);
  // NOLINTEND(bugprone-use-after-move)
}

// Sanitizers keep books of threads and memory that a child, or a limit of memory, breaks.
#if !NEUROSHARD_SANITIZED

TEST(PlannerInProcessDeathTest, WithTooFewThreadsItGoesOnAndSaysSo) {
  const auto plan = [] {
    const Task task = task_for_threads();
    const PlanResult expected = Planner(random_models(1), {.search = {}, .threads = 1}).plan(task);
    if (!testing::leave_room_for_two_threads()) std::_Exit(1);
    const Planner planner(random_models(1), {.search = {}, .threads = 8});
    const PlanResult result = planner.plan(task);
    if (result.plan != expected.plan || !expected.stats.warning.empty()) std::_Exit(2);
    if (result.stats.warning.find("3 of 8 threads") == std::string::npos) std::_Exit(3);
    // The planner's threads are there still: a batch finds none.
    for (const PlanOutcome& one : planner.plan_batch(std::vector<Task>(10, task))) {
      if (one->plan != expected.plan) std::_Exit(4);
      if (one->stats.warning.find("1 of 8 threads") == std::string::npos) std::_Exit(5);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(plan(), ExitedWithCode(0), "");
}

TEST(PlannerInProcessDeathTest, AChildOfForkPlansAndEnds) {
  const Task task = task_for_threads();
  static const Planner planner(random_models(1), {.search = {}, .threads = 3});
  const PlanResult expected = planner.plan(task);
  const auto child = [&] {
    alarm(60);
    const PlanResult result = planner.plan(task);
    if (result.plan != expected.plan || planner.plan_batch({&task, 1})[0]->plan != expected.plan) {
      std::_Exit(1);
    }
    if (result.stats.warning.find("fork") == std::string::npos) std::_Exit(2);
    std::exit(0);  // Destroys the planner.
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "");
}

TEST(PlannerInProcessDeathTest, TheDestructorOfAStaticObjectMayPlan) {
  struct PlansAtExit {
    ~PlansAtExit() {
      // Not the status of exit(): that is 3.
      const bool planned = Planner(builtin_weights(), {.search = {}, .threads = 2})
                               .plan(task_for_threads())
                               .plan.has_value();
      std::_Exit(planned ? 0 : 1);
    }
  };
  const auto child = [] {
    static const PlansAtExit at_exit;
    // Made after the object, and so gone before its end if they were destroyed at all.
    (void)builtin_weights();
    (void)Planner(builtin_weights()).plan(task_for_threads());
    std::exit(3);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace neuroshard
