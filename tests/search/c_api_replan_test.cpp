#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "neuroshard/c_api.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "search/c_api_handles.h"

namespace neuroshard::testing {
namespace {

using ::testing::HasSubstr;

Handle<ns_plan> replan(const Handle<ns_planner>& planner, const Handle<ns_plan>& running,
                       const Handle<ns_task>& task, ns_replan_options options = {},
                       ns_status expected = NS_OK) {
  options.size = sizeof options;
  ns_plan* plan = nullptr;
  EXPECT_EQ(ns_planner_replan(planner.get(), running.get(), task.get(), &options, &plan), expected)
      << ns_last_error();
  return Handle<ns_plan>(plan);
}

ns_move_summary move_summary_of(const Handle<ns_plan>& plan) {
  ns_move_summary summary{};
  summary.size = sizeof summary;
  EXPECT_EQ(ns_plan_get_move_summary(plan.get(), &summary), NS_OK) << ns_last_error();
  return summary;
}

// The task of kTask on so many devices.
Handle<ns_task> task_on(int devices) {
  auto task = task_from(kTask);
  EXPECT_EQ(ns_task_set_devices(task.get(), devices), NS_OK);
  return task;
}

TEST(CApiReplan, IsThePlannersOwn) {
  const auto planner = new_planner();
  const auto running = plan_of(planner, task_on(3));
  const std::vector<std::int32_t> lost = {1};
  ns_replan_options options{};
  options.lost_devices = lost.data();
  options.lost_device_count = lost.size();
  options.ms_per_moved_gib = 0.01;
  const auto plan = replan(planner, running, task_on(2), options);

  const TaskFile file = parse_task(kTask, "task");
  const Task three{.tables = file.tables, .devices = 3, .memory_bytes = *file.memory_bytes};
  Task two = three;
  two.devices = 2;
  const Planner cpp(builtin_weights(), {.cuts = Cuts::kColumns, .search = {}, .threads = 1});
  const ReplanResult expected =
      cpp.replan(two, {three, *cpp.plan(three).plan, {1}}, {.ms_per_moved_gib = 0.01});
  EXPECT_EQ(summary_of(plan).cost_ms, expected.result.cost.cost_ms);
  const ns_move_summary summary = move_summary_of(plan);
  EXPECT_EQ(summary.moved_bytes, expected.moved_bytes);
  EXPECT_EQ(summary.must_move_bytes, expected.must_move_bytes);
  EXPECT_GT(summary.must_move_bytes, 0);
  EXPECT_EQ(summary.running_cost_ms, expected.running_cost.cost_ms);

  const std::vector<ns_move> moves = all_of(ns_plan_get_moves, plan);
  ASSERT_EQ(moves.size(), expected.moves.size());
  ASSERT_FALSE(moves.empty());
  const std::vector<ns_rows> rows = all_of(ns_plan_get_move_rows, plan);
  ASSERT_EQ(rows.size(), moves.size());
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const TableMove& move = expected.moves[i];
    EXPECT_EQ(moves[i].table, move.columns.table);
    EXPECT_EQ(moves[i].first_column, move.columns.first_column);
    EXPECT_EQ(moves[i].dim, move.columns.dim);
    EXPECT_EQ(moves[i].from, move.from);
    EXPECT_EQ(moves[i].to, move.to);
    EXPECT_EQ(rows[i].first_row, move.first_row);
    EXPECT_EQ(rows[i].rows, move.rows);
    EXPECT_EQ(moves[i].bytes, move.bytes);
  }
}

TEST(CApiReplan, KeepsToABudget) {
  const auto planner = new_planner();
  const auto task = task_on(2);
  const auto running = plan_of(planner, task);
  const std::int64_t none = 0;
  const auto plan =
      replan(planner, running, task, with(&ns_replan_options::most_moved_bytes, &none));
  EXPECT_EQ(move_summary_of(plan).moved_bytes, 0);
  EXPECT_TRUE(all_of(ns_plan_get_moves, plan).empty());
  // The order of a device's slices may change the last bits.
  EXPECT_LE(summary_of(plan).cost_ms, summary_of(running).cost_ms * (1.0 + 1e-5));

  const std::vector<std::int32_t> lost = {0};
  ns_replan_options too_little = with(&ns_replan_options::most_moved_bytes, &none);
  too_little.lost_devices = lost.data();
  too_little.lost_device_count = 1;
  EXPECT_EQ(replan(planner, running, task_on(1), too_little, NS_INVALID_INPUT), nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("move budget of 0 B; give at least "));
}

TEST(CApiReplan, SpendsWhatEarlierBudgetsLeft) {
  const auto planner = new_planner();
  const auto task = task_on(2);
  const auto running = plan_of(planner, task);
  const std::int64_t none = 0;
  const std::int64_t left = std::int64_t{1} << 40;
  ns_replan_options options = with(&ns_replan_options::most_moved_bytes, &none);
  options.unspent_bytes = &left;
  const auto plan = replan(planner, running, task, options);
  const ns_move_summary summary = move_summary_of(plan);
  EXPECT_EQ(summary.unspent_bytes, left - summary.moved_bytes);
}

TEST(CApiReplan, GroupsChangeTheirSize) {
  const auto planner = new_planner();
  const auto running = plan_of(planner, task_on(2));
  const auto plan =
      replan(planner, running, task_on(4), with(&ns_replan_options::regrouped, "consecutive"));
  EXPECT_EQ(summary_of(plan).devices, 4);
  EXPECT_EQ(move_summary_of(plan).moved_bytes, 0);
  EXPECT_EQ(replan(planner, running, task_on(4), with(&ns_replan_options::regrouped, "diagonal"),
                   NS_INVALID_INPUT),
            nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("diagonal"));
}

TEST(CApiReplan, RefusesSharesThatAreNone) {
  const auto planner = new_planner();
  const auto task = task_on(2);
  const auto running = plan_of(planner, task);
  const double share = 1.5;
  EXPECT_EQ(replan(planner, running, task, with(&ns_replan_options::small_moves_share, &share),
                   NS_INVALID_INPUT),
            nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("between 0 and 1"));
}

TEST(CApiReplan, SaysWhatIsWrong) {
  const auto planner = new_planner();
  const auto task = task_on(2);
  const auto running = plan_of(planner, task);
  EXPECT_EQ(replan(planner, nullptr, task, {}, NS_INVALID_INPUT), nullptr);
  EXPECT_STREQ(ns_last_error(), "running is NULL");
  ns_replan_options nowhere{};
  nowhere.lost_device_count = 1;
  EXPECT_EQ(replan(planner, running, task, nowhere, NS_INVALID_INPUT), nullptr);
  EXPECT_STREQ(ns_last_error(), "lost_devices is NULL");
  const std::int32_t seven = 7;
  nowhere.lost_devices = &seven;
  EXPECT_EQ(replan(planner, running, task, nowhere, NS_INVALID_INPUT), nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("7"));
  // Counts whose bytes are none, or fewer than those of one, in 64 bits; -1; one more than there
  // are.
  for (const std::size_t count :
       {std::size_t{1} << 62, (std::size_t{1} << 62) + 1, SIZE_MAX, std::size_t{3}}) {
    nowhere.lost_device_count = count;
    EXPECT_EQ(replan(planner, running, task, nowhere, NS_INVALID_INPUT), nullptr);
    EXPECT_EQ(ns_last_error(),
              "lost_device_count is " + std::to_string(count) + "; give at most 2");
  }
  EXPECT_EQ(replan(planner, running, task, with(&ns_replan_options::ms_per_moved_gib, -1.0),
                   NS_INVALID_INPUT),
            nullptr);
  EXPECT_EQ(
      replan(planner, running, task, with(&ns_replan_options::deadline_ms, NAN), NS_INVALID_INPUT),
      nullptr);
  EXPECT_EQ(replan(planner, running, task, with(&ns_replan_options::reserved, 1), NS_INVALID_INPUT),
            nullptr);
  const auto small = task_on(2);
  ASSERT_EQ(ns_task_set_memory(small.get(), 1 << 20), NS_OK);
  const auto none = replan(planner, running, small, {}, NS_INFEASIBLE);
  ASSERT_NE(none, nullptr);
  EXPECT_EQ(move_summary_of(none).moved_bytes, 0);
  EXPECT_EQ(replan(planner, none, task, {}, NS_INVALID_INPUT), nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("give the plan that runs"));
}

TEST(CApiReplan, OtherPlansHaveNoMoves) {
  const auto plan = plan_of(new_planner(), task_on(2));
  EXPECT_TRUE(all_of(ns_plan_get_moves, plan).empty());
  EXPECT_EQ(move_summary_of(plan).running_cost_ms, 0.0);
}

TEST(CApiBatch, EachTaskHasItsOwnOutcome) {
  const auto planner = new_planner();
  const auto two = task_on(2);
  const auto three = task_on(3);
  const auto small = task_on(2);
  ASSERT_EQ(ns_task_set_memory(small.get(), 1 << 20), NS_OK);
  const auto unfinished = task_from(
      R"({"format": "neuroshard.task", "version": 1,
          "tables": [{"row": 1000, "dim": 16, "pooling_factor": 1}]})");
  const std::vector<const ns_task*> tasks = {two.get(), unfinished.get(), small.get(), three.get()};
  std::vector<ns_plan*> plans(tasks.size());
  std::vector<ns_status> statuses(tasks.size());
  ASSERT_EQ(ns_planner_plan_batch(planner.get(), tasks.data(), tasks.size(), nullptr, plans.data(),
                                  statuses.data()),
            NS_OK)
      << ns_last_error();
  std::vector<Handle<ns_plan>> owners;
  for (ns_plan* plan : plans) owners.emplace_back(plan);
  EXPECT_THAT(statuses, ::testing::ElementsAre(NS_OK, NS_INVALID_INPUT, NS_INFEASIBLE, NS_OK));
  EXPECT_EQ(owners[1], nullptr);
  EXPECT_EQ(summary_of(owners[0]).cost_ms, summary_of(plan_of(planner, two)).cost_ms);
  EXPECT_EQ(summary_of(owners[2]).devices, 0);
  EXPECT_EQ(summary_of(owners[3]).cost_ms, summary_of(plan_of(planner, three)).cost_ms);
}

TEST(CApiBatch, SaysWhatIsWrongWithAllOfIt) {
  const auto planner = new_planner();
  const auto task = task_on(2);
  const ns_task* tasks[] = {task.get(), nullptr};
  ns_plan* plans[2] = {};
  ns_status statuses[2] = {};
  const auto batch = [&](std::size_t count, const ns_plan_options* options = nullptr) {
    return ns_planner_plan_batch(planner.get(), tasks, count, options, plans, statuses);
  };
  EXPECT_EQ(batch(2), NS_INVALID_INPUT);
  EXPECT_STREQ(ns_last_error(), "a task is NULL");
  EXPECT_EQ(batch(0), NS_OK);
  for (const std::size_t count : {std::size_t{1} << 61, SIZE_MAX, (std::size_t{1} << 24) + 1}) {
    EXPECT_EQ(batch(count), NS_INVALID_INPUT);
    EXPECT_EQ(ns_last_error(), "count is " + std::to_string(count) + "; give at most 16777216");
  }
  ns_plan_options told =
      with(&ns_plan_options::on_improvement, [](const ns_plan*, double, void*) {});
  EXPECT_EQ(batch(1, &told), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr("set it to NULL"));
  EXPECT_EQ(ns_planner_plan_batch(planner.get(), nullptr, 1, nullptr, plans, statuses),
            NS_INVALID_INPUT);
  EXPECT_STREQ(ns_last_error(), "tasks is NULL");
  EXPECT_EQ(plans[0], nullptr);
}

TEST(CApiImprovements, AreToldFromTheFirstPlanToTheBest) {
  std::vector<double> costs;
  ns_plan_options options{};
  options.context = &costs;
  options.on_improvement = [](const ns_plan* plan, double elapsed_ms, void* context) {
    EXPECT_GE(elapsed_ms, 0.0);
    ns_plan_summary summary{};
    summary.size = sizeof summary;
    EXPECT_EQ(ns_plan_get_summary(plan, &summary), NS_OK);
    static_cast<std::vector<double>*>(context)->push_back(summary.cost_ms);
  };
  const auto plan = plan_of(new_planner(), task_on(3), options);
  ASSERT_FALSE(costs.empty());
  EXPECT_EQ(costs.back(), summary_of(plan).cost_ms);
  EXPECT_TRUE(std::is_sorted(costs.rbegin(), costs.rend()));
}

}  // namespace
}  // namespace neuroshard::testing
