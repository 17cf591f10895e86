#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "neuroshard/planner.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "search/c_api_handles.h"

namespace neuroshard::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kDevicesInGroups = 8;

Handle<ns_task> ungrouped_task() {
  auto task = task_from(kTask);
  EXPECT_EQ(ns_task_set_devices(task.get(), kDevicesInGroups), NS_OK);
  return task;
}

Handle<ns_groups> groups_of(const Handle<ns_planner>& planner, const Handle<ns_task>& task,
                            ns_groups_options options = {}, ns_status expected = NS_OK) {
  options.size = sizeof options;
  ns_groups* groups = nullptr;
  EXPECT_EQ(ns_planner_plan_groups(planner.get(), task.get(), &options, &groups), expected)
      << ns_last_error();
  return Handle<ns_groups>(groups);
}

Handle<ns_plan> plan_in(const Handle<ns_groups>& groups, std::size_t index) {
  ns_plan* plan = nullptr;
  EXPECT_EQ(ns_groups_get_plan(groups.get(), index, &plan), NS_OK) << ns_last_error();
  return Handle<ns_plan>(plan);
}

Handle<ns_task> task_in(const Handle<ns_groups>& groups, std::size_t index) {
  ns_task* task = nullptr;
  EXPECT_EQ(ns_groups_get_task(groups.get(), index, &task), NS_OK) << ns_last_error();
  return Handle<ns_task>(task);
}

TEST(CApiGroups, AreThePlannersOwn) {
  const auto planner = new_planner();
  const std::vector<std::int32_t> sizes = {2, 4, 8};
  ns_groups_options options = with(&ns_groups_options::iterations, 20.0);
  options.sizes = sizes.data();
  options.size_count = sizes.size();
  options.weights_only = 1;
  options.touched_rows = 1;
  const auto groups = groups_of(planner, ungrouped_task(), options);

  const TaskFile file = parse_task(kTask, "task");
  const Task task{
      .tables = file.tables, .devices = kDevicesInGroups, .memory_bytes = *file.memory_bytes};
  const Planner own(builtin_weights(), {.cuts = Cuts::kColumns, .threads = 1});
  const GroupsResult expected = own.plan_groups(
      task,
      {.sizes = {2, 4, 8}, .iterations = 20.0, .optimizer_state = false, .touched_rows = true});
  const std::vector<ns_group_cost> costs = all_of(ns_groups_get_costs, groups);
  ASSERT_EQ(costs.size(), expected.plans.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    SCOPED_TRACE(i);
    const GroupsPlan& plan = expected.plans[i];
    EXPECT_EQ(costs[i].size, plan.groups.size);
    EXPECT_EQ(costs[i].copies, plan.copies);
    EXPECT_EQ(costs[i].layout, name_of(plan.groups.layout));
    EXPECT_EQ(costs[i].cost_ms, plan.cost_ms);
    EXPECT_EQ(costs[i].iteration_ms, plan.result.cost.cost_ms);
    EXPECT_EQ(costs[i].averaging_ms, plan.averaging_ms);
    EXPECT_EQ(costs[i].iterations, plan.iterations);
    EXPECT_EQ(costs[i].averaged_bytes, plan.averaged_bytes);
  }
  std::size_t best = costs.size();
  ASSERT_EQ(ns_groups_get_best(groups.get(), &best), NS_OK);
  EXPECT_EQ(best, expected.best);
  EXPECT_TRUE(all_of(ns_groups_get_left_out, groups).empty());
}

// The price of what is stored is 0 where the share of averaging is given.
TEST(CApiGroups, AGroupIsATaskOfItsOwn) {
  const auto planner = new_planner();
  const auto groups = groups_of(planner, ungrouped_task(), with(&ns_groups_options::share, 0.1));
  const std::vector<ns_group_cost> costs = all_of(ns_groups_get_costs, groups);
  ASSERT_GE(costs.size(), 2U);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    SCOPED_TRACE(i);
    const ns_plan_summary summary = summary_of(plan_in(groups, i));
    EXPECT_EQ(summary.devices, costs[i].size);
    EXPECT_EQ(summary.cost_ms, costs[i].iteration_ms);
    EXPECT_EQ(summary_of(plan_of(planner, task_in(groups, i))).cost_ms, summary.cost_ms);
    EXPECT_THAT(json_of(plan_in(groups, i)),
                HasSubstr("toy, a group of " + std::to_string(costs[i].size)));
    if (costs[i].copies > 1) {
      EXPECT_LE(costs[i].cost_ms, 1.1 * costs[i].iteration_ms);
    }
  }
  const auto plan = plan_in(groups, 0);
  ns_plan* again = nullptr;
  EXPECT_EQ(ns_planner_replan(planner.get(), plan.get(), task_in(groups, 0).get(), nullptr, &again),
            NS_OK)
      << ns_last_error();
  ns_plan_free(again);
}

TEST(CApiGroups, SayWhatCannotBe) {
  const auto planner = new_planner();
  const auto task = ungrouped_task();
  ASSERT_EQ(ns_task_set_memory(task.get(), 300 << 20), NS_OK);  // Two devices have room for all.
  const auto groups = groups_of(planner, task);
  EXPECT_THAT(all_of(ns_groups_get_left_out, groups),
              ::testing::Contains(HasSubstr("1: tables take")));

  ASSERT_EQ(ns_task_set_memory(task.get(), 1 << 20), NS_OK);
  const auto none = groups_of(planner, task, {}, NS_INFEASIBLE);
  ASSERT_NE(none, nullptr);
  EXPECT_STREQ(ns_last_error(), "no size of groups has a plan");
  EXPECT_FALSE(all_of(ns_groups_get_left_out, none).empty());
  std::size_t best = 7;
  EXPECT_EQ(ns_groups_get_best(none.get(), &best), NS_INFEASIBLE);
  EXPECT_EQ(best, 7U);
  // A size that is asked for has a plan that says why there is none.
  const std::int32_t two = 2;
  ns_groups_options options = with(&ns_groups_options::sizes, &two);
  options.size_count = 1;
  const auto asked = groups_of(planner, task, options, NS_INFEASIBLE);
  ASSERT_FALSE(all_of(ns_groups_get_costs, asked).empty());
  EXPECT_TRUE(std::isinf(all_of(ns_groups_get_costs, asked)[0].cost_ms));
  ns_plan* why = nullptr;
  EXPECT_EQ(ns_groups_get_plan(asked.get(), 0, &why), NS_INFEASIBLE);
  ASSERT_NE(why, nullptr);
  ns_plan_free(why);
}

TEST(CApiGroups, SayWhatIsWrong) {
  const auto planner = new_planner();
  const auto task = ungrouped_task();
  const auto expect_refused = [&](const ns_groups_options& options, const char* text) {
    SCOPED_TRACE(text);
    EXPECT_EQ(groups_of(planner, task, options, NS_INVALID_INPUT), nullptr);
    EXPECT_THAT(ns_last_error(), HasSubstr(text));
  };
  expect_refused(with(&ns_groups_options::layout, "diagonal"), "diagonal");
  expect_refused(with(&ns_groups_options::share, 1.5), "share of averaging is 1.5");
  expect_refused(with(&ns_groups_options::iterations, 0.5), "after 0.5 iterations");
  expect_refused(with(&ns_groups_options::deadline_ms, NAN), "deadline_ms");
  expect_refused(with(&ns_groups_options::reserved, 1), "does not know");
  expect_refused(with(&ns_groups_options::size_count, 1), "sizes is NULL");
  expect_refused(with(&ns_groups_options::size_count, SIZE_MAX), "size_count is ");
  const std::int32_t three = 3;
  ns_groups_options options = with(&ns_groups_options::sizes, &three);
  options.size_count = 1;
  expect_refused(options, "groups of 3 devices do not divide the 8");
}

TEST(CApiGroups, NullIsAnErrorOrNothing) {
  const auto planner = new_planner();
  const auto task = ungrouped_task();
  ns_groups* groups = nullptr;
  EXPECT_EQ(ns_planner_plan_groups(nullptr, task.get(), nullptr, &groups), NS_INVALID_INPUT);
  EXPECT_EQ(ns_planner_plan_groups(planner.get(), nullptr, nullptr, &groups), NS_INVALID_INPUT);
  EXPECT_EQ(ns_planner_plan_groups(planner.get(), task.get(), nullptr, nullptr), NS_INVALID_INPUT);
  std::size_t count = 0;
  ns_task* no_task = nullptr;
  ns_plan* no_plan = nullptr;
  EXPECT_EQ(ns_groups_get_costs(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_best(nullptr, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_left_out(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_task(nullptr, 0, &no_task), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_plan(nullptr, 0, &no_plan), NS_INVALID_INPUT);
  ns_groups_free(nullptr);
  const auto made = groups_of(planner, task);
  EXPECT_EQ(ns_groups_get_costs(made.get(), nullptr, 1, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_costs(made.get(), nullptr, 0, nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_best(made.get(), nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_task(made.get(), 0, nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_groups_get_plan(made.get(), 1000, &no_plan), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr("index is 1000"));
  EXPECT_EQ(no_plan, nullptr);
}

}  // namespace
}  // namespace neuroshard::testing
