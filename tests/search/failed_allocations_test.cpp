// Memory that runs out: after any failed allocation a planner is as it was before. In a program
// that replaces operator new.
#include <gtest/gtest.h>

#include <new>
#include <string_view>

#include "golden.h"
#include "neuroshard/c_api.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "search/counted_allocations.h"

namespace neuroshard {
namespace {

using testing::allocation_has_failed;
using testing::fail_allocation;
using testing::fail_allocations;
using testing::golden_models;
using testing::golden_task;

void expect_same(const PlanResult& result, const PlanResult& expected) {
  ASSERT_EQ(result.plan, expected.plan);
  ASSERT_EQ(result.cost.cost_ms, expected.cost.cost_ms);
  ASSERT_EQ(result.stats.candidates, expected.stats.candidates);
}

std::size_t each(std::size_t n) { return n + 1; }
// A plan makes tens of thousands, most of the later ones in the same few places.
std::size_t fewer_and_fewer(std::size_t n) { return n + 1 + n / 25; }

class FailedAllocations : public ::testing::TestWithParam<int> {
 protected:
  static PlannerOptions options() { return {.search = {}, .threads = GetParam()}; }

  const Task task_ = golden_task("2gpu_dim64", 0);
  const Task other_ = golden_task("2gpu_dim64", 3);
  const PlanResult expected_ = Planner(golden_models(), {.search = {}, .threads = 1}).plan(task_);
  const PlanResult expected_of_other_ =
      Planner(golden_models(), {.search = {}, .threads = 1}).plan(other_);
};

TEST_P(FailedAllocations, InAPlanLeaveThePlannerAsItWas) {
  const Planner planner(golden_models(), options());
  expect_same(planner.plan(other_), expected_of_other_);
  fail_allocations(
      fewer_and_fewer, [&] { (void)planner.plan(task_); },
      [&] {
        ASSERT_NO_FATAL_FAILURE(expect_same(planner.plan(task_), expected_));
        ASSERT_NO_FATAL_FAILURE(expect_same(planner.plan(other_), expected_of_other_));
      });
}

// Everything that a planner keeps between plans is made by its first plan.
TEST_P(FailedAllocations, InTheFirstPlanLeaveThePlannerAsItWas) {
  for (std::size_t n = 1;; n = fewer_and_fewer(n)) {
    SCOPED_TRACE(n);
    const Planner planner(golden_models(), options());
    fail_allocation(n);
    try {
      expect_same(planner.plan(task_), expected_);
    } catch (const std::bad_alloc&) {
    }
    const bool failed = allocation_has_failed();
    fail_allocation(0);
    ASSERT_NO_FATAL_FAILURE(expect_same(planner.plan(task_), expected_));
    if (!failed) break;
  }
}

TEST_P(FailedAllocations, InABatchLeaveThePlannerAsItWas) {
  const Planner planner(golden_models(), options());
  const std::vector<Task> tasks{task_, other_};
  fail_allocations(
      fewer_and_fewer, [&] { (void)planner.plan_batch(tasks); },
      [&] {
        const auto results = planner.plan_batch(tasks);
        ASSERT_NO_FATAL_FAILURE(expect_same(results[0].value(), expected_));
        ASSERT_NO_FATAL_FAILURE(expect_same(results[1].value(), expected_of_other_));
      });
}

TEST_P(FailedAllocations, InASimulationLeaveThePlannerAsItWas) {
  const Planner planner(golden_models(), options());
  fail_allocations(
      each, [&] { (void)planner.simulate(task_, *expected_.plan); },
      [&] { ASSERT_EQ(planner.simulate(task_, *expected_.plan).cost_ms, expected_.cost.cost_ms); });
}

// All that a program in C does with a task.
ns_status plan_to_json(const ns_planner* planner, std::string_view task_json) {
  ns_task* task = nullptr;
  ns_plan* plan = nullptr;
  char* json = nullptr;
  ns_status status = ns_task_from_json(task_json.data(), task_json.size(), &task);
  if (status == NS_OK) status = ns_planner_plan(planner, task, nullptr, &plan);
  if (status == NS_OK) status = ns_plan_to_json(plan, &json);
  ns_string_free(json);
  ns_explain_options options{};
  options.size = sizeof options;
  options.rules = 1;
  if (status == NS_OK) status = ns_planner_explain(planner, plan, &options, &json);
  if (status == NS_OK) ns_string_free(json);
  ns_plan_free(plan);
  ns_task_free(task);
  return status;
}

// Becomes what fail_allocations() expects of C++.
void require_memory(ns_status status) {
  if (status == NS_OUT_OF_MEMORY) throw std::bad_alloc();
  ASSERT_EQ(status, NS_OK) << ns_last_error();
}

TEST(FailedAllocationsInTheCInterface, AreAStatusAndLeaveThePlannerAsItWas) {
  constexpr std::string_view kTask =
      R"({"format": "neuroshard.task", "version": 1, "devices": 2, "memory_gb": 1, "tables": [
          {"name": "a name that is too long for a short string", "row": 100000, "dim": 32,
           "pooling_factor": 3, "rules": {"no_split": true}}, {"row": 2000, "dim": 16, "pooling_factor": 20}]})";
  (void)builtin_weights();  // Read once in a process.
  ns_planner_options options{};
  options.size = sizeof options;
  options.algorithm = "size_greedy";
  options.threads = 1;
  fail_allocations(
      each,
      [&] {
        ns_planner* planner = nullptr;
        const ns_status status = ns_planner_create(&options, &planner);
        ns_planner_free(planner);
        require_memory(status);
      },
      [] {});
  ns_planner* planner = nullptr;
  ASSERT_EQ(ns_planner_create(&options, &planner), NS_OK) << ns_last_error();
  fail_allocations(
      each, [&] { require_memory(plan_to_json(planner, kTask)); },
      [&] { ASSERT_EQ(plan_to_json(planner, kTask), NS_OK); });
  ns_planner_free(planner);
}

INSTANTIATE_TEST_SUITE_P(Threads, FailedAllocations, ::testing::Values(1, 2));

}  // namespace
}  // namespace neuroshard
