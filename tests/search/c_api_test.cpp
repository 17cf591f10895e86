#include "neuroshard/c_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "neuroshard/cost_bound.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "search/c_api_handles.h"

namespace neuroshard::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Task task_of(const std::string& json) {
  const TaskFile file = parse_task(json, "task");
  return {file.tables, *file.devices, *file.memory_bytes};
}

TEST(CApi, PlansAsThePlannerDoes) {
  const Task task = task_of(kTask);
  const PlanResult expected =
      Planner(builtin_weights(), {.cuts = Cuts::kColumns, .search = {}, .threads = 1})
          .plan(task, {.alternatives = 2});
  const auto plan =
      plan_of(new_planner(), task_from(kTask), with(&ns_plan_options::alternatives, 2));

  const ns_plan_summary summary = summary_of(plan);
  EXPECT_EQ(summary.cost_ms, expected.cost.cost_ms);
  EXPECT_GT(summary.search_ms, 0.0);
  EXPECT_EQ(summary.devices, 2);
  EXPECT_EQ(summary.alternatives, 2);
  EXPECT_EQ(summary.complete, 1);
  EXPECT_EQ(summary.fits_memory, 1);

  const std::vector<ns_device_cost> devices = all_of(ns_plan_get_devices, plan);
  ASSERT_EQ(devices.size(), 2U);
  for (std::size_t device = 0; device < 2; ++device) {
    const DeviceCost& cost = expected.cost.devices[device];
    EXPECT_EQ(devices[device].compute_ms, cost.compute_ms);
    EXPECT_EQ(devices[device].forward_ms, cost.forward_ms);
    EXPECT_EQ(devices[device].backward_ms, cost.backward_ms);
    EXPECT_EQ(devices[device].memory_bytes, cost.memory_bytes);
    EXPECT_EQ(devices[device].dim_sum, cost.dim_sum);
  }
  const std::vector<ns_device_memory> memory = all_of(ns_plan_get_device_memory, plan);
  ASSERT_EQ(memory.size(), 2U);
  for (std::size_t device = 0; device < 2; ++device) {
    const DeviceCost& cost = expected.cost.devices[device];
    EXPECT_EQ(memory[device].weight_bytes, cost.memory.weight_bytes);
    EXPECT_EQ(memory[device].weight_bytes, cost.memory_bytes);
    EXPECT_EQ(memory[device].optimizer_bytes, 0);
    EXPECT_EQ(memory[device].buffer_bytes, 0);
    EXPECT_EQ(memory[device].reserved_bytes, 0);
    EXPECT_EQ(memory[device].free_bytes, cost.free_bytes);
  }
  EXPECT_EQ(expected.cost.devices[static_cast<std::size_t>(summary.slowest_device)].total_ms(),
            expected.cost.cost_ms);

  const std::vector<ns_slice> slices = all_of(ns_plan_get_slices, plan);
  EXPECT_EQ(static_cast<std::size_t>(summary.slices), slices.size());
  auto slice = slices.begin();
  const auto by_device = slices_by_device(*expected.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& wanted : by_device[device]) {
      ASSERT_NE(slice, slices.end());
      EXPECT_EQ(static_cast<std::size_t>(slice->device), device);
      EXPECT_EQ(slice->table, wanted.table);
      EXPECT_EQ(slice->first_column, wanted.first_column);
      EXPECT_EQ(slice->dim, wanted.dim);
      ++slice;
    }
  }
  EXPECT_EQ(slice, slices.end());

  for (std::size_t i = 0; i < 2; ++i) {
    ns_plan* other = nullptr;
    ASSERT_EQ(ns_plan_get_alternative(plan.get(), i, &other), NS_OK) << ns_last_error();
    EXPECT_EQ(summary_of(Handle<ns_plan>(other)).cost_ms, expected.alternatives[i].cost.cost_ms);
  }
  ns_plan* none = nullptr;
  EXPECT_EQ(ns_plan_get_alternative(plan.get(), 2, &none), NS_INVALID_INPUT);
  EXPECT_EQ(none, nullptr);
}

// Version 2 of plan files: ns_slice cannot say rows, ns_block can.
TEST(CApi, RowBlocksAreSaidAsBlocks) {
  const std::string text = R"({"format": "neuroshard.task", "version": 1, "devices": 2,
    "memory_gb": 1, "tables": [{"row": 1000, "dim": 12, "pooling_factor": 2}]})";
  const auto task = task_from(text);
  const std::string_view json = R"({"slices": [[0, 0, 12, 0, 300], [0, 0, 12, 300, 700]],
    "shards": [[1], [0]]})";
  const auto planner = new_planner();
  ns_plan* handle = nullptr;
  ASSERT_EQ(ns_planner_simulate(planner.get(), task.get(), json.data(), json.size(), &handle),
            NS_OK)
      << ns_last_error();
  const Handle<ns_plan> plan(handle);
  std::size_t count = 0;
  EXPECT_EQ(ns_plan_get_slices(handle, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_STREQ(ns_last_error(), "the plan has row blocks; call ns_plan_get_blocks");
  std::array<ns_block, 3> blocks{};
  ASSERT_EQ(ns_plan_get_blocks(handle, blocks.data(), blocks.size(), &count), NS_OK);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(blocks[0].device, 0);
  EXPECT_EQ(blocks[0].first_row, 300);
  EXPECT_EQ(blocks[0].rows, 700);
  EXPECT_EQ(blocks[1].device, 1);
  EXPECT_EQ(blocks[1].table, 0);
  EXPECT_EQ(blocks[1].first_column, 0);
  EXPECT_EQ(blocks[1].dim, 12);
  EXPECT_EQ(blocks[1].rows, 300);
}

TEST(CApi, WritesNoMoreSlicesThanThereIsRoomFor) {
  const auto plan = plan_of(new_planner(), task_from(kTask));
  const std::vector<ns_slice> all = all_of(ns_plan_get_slices, plan);
  ASSERT_GT(all.size(), 1U);
  std::vector<ns_slice> room(2, ns_slice{-7, -7, -7, -7});
  std::size_t count = 0;
  EXPECT_EQ(ns_plan_get_slices(plan.get(), room.data(), 1, &count), NS_OK);
  EXPECT_EQ(count, all.size());
  EXPECT_EQ(std::memcmp(room.data(), all.data(), sizeof(ns_slice)), 0);
  EXPECT_EQ(room[1].device, -7);
  EXPECT_EQ(ns_plan_get_slices(plan.get(), nullptr, 1, &count), NS_INVALID_INPUT);
}

TEST(CApi, JsonIsThatOfPlanFilesAndIsReadBack) {
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  const auto plan = plan_of(planner, task);
  const std::string json = json_of(plan);
  const std::vector<PlanRecord> records = parse_plans(json, "plan");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].cost_ms, summary_of(plan).cost_ms);
  EXPECT_THAT(json, HasSubstr("\"name\":\"toy\""));
  EXPECT_THAT(json, HasSubstr("\"weights\": \"built-in weights (hardware: "));
  EXPECT_THAT(json, HasSubstr("\"notes\": [\"made up\",\"" + derived_histograms_note(4) + "\"]"));

  EXPECT_EQ(ns_task_check_plan(task.get(), json.data(), json.size()), NS_OK) << ns_last_error();
  ns_plan* simulated = nullptr;
  ASSERT_EQ(ns_planner_simulate(planner.get(), task.get(), json.data(), json.size(), &simulated),
            NS_OK)
      << ns_last_error();
  const Handle<ns_plan> owner(simulated);
  EXPECT_EQ(summary_of(owner).cost_ms, summary_of(plan).cost_ms);
  EXPECT_EQ(summary_of(owner).search_ms, 0.0);
}

TEST(CApi, PlansForAnyHardware) {
  const auto created = [](const char* hardware, ns_planner** planner) {
    const ns_planner_options options{.size = sizeof options,
                                     .weights_path = nullptr,
                                     .backend = nullptr,
                                     .algorithm = nullptr,
                                     .effort = "fast",
                                     .threads = 1,
                                     .reserved = 0,
                                     .cuts = nullptr,
                                     .hardware = hardware,
                                     .policy_path = nullptr};
    return ns_planner_create(&options, planner);
  };
  double ms_of_mine = 0.0;
  double ms_of_a100 = 0.0;
  const char* const mine =
      R"({"memory_gb_s": 5000, "l2_mib": 64, "multiprocessors": 132, "clock_ghz": 1.9, "in_node_gb_s": 600, "between_nodes_gb_s": 50})";
  for (const auto& [hardware, ms] :
       {std::pair(mine, &ms_of_mine), std::pair("a100", &ms_of_a100)}) {
    ns_planner* made = nullptr;
    ASSERT_EQ(created(hardware, &made), NS_OK) << ns_last_error();
    const Handle<ns_planner> planner(made);
    const auto plan = plan_of(planner, task_from(kTask));
    EXPECT_EQ(json_of(plan).find("scaled from ") != std::string::npos, hardware == mine);
    *ms = summary_of(plan).cost_ms;
  }
  EXPECT_GT(ms_of_a100, 1.5 * ms_of_mine);
  ns_planner* none = nullptr;
  EXPECT_EQ(created("abacus", &none), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), StartsWith("hardware: no data for hardware 'abacus'; use one of"));
  EXPECT_EQ(created(R"({"l2_mib": 64})", &none), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), StartsWith("hardware: the field 'memory_gb_s' is missing"));
}

TEST(CApi, APlanThatNeedsMoreMemoryHasACostAndIsInfeasible) {
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  const std::string json = json_of(plan_of(planner, task));
  ASSERT_EQ(ns_task_set_memory(task.get(), 1000), NS_OK);
  EXPECT_EQ(ns_task_check_plan(task.get(), json.data(), json.size()), NS_INFEASIBLE);
  EXPECT_THAT(ns_last_error(), HasSubstr("more than it has room for; move slices"));
  ns_plan* simulated = nullptr;
  ASSERT_EQ(ns_planner_simulate(planner.get(), task.get(), json.data(), json.size(), &simulated),
            NS_OK);
  EXPECT_EQ(summary_of(Handle<ns_plan>(simulated)).fits_memory, 0);
}

TEST(CApi, ListsAllProblemsOfAPlan) {
  const auto task = task_from(kTask);
  const auto problems_of = [&](const std::string& plan) {
    char* problems = nullptr;
    EXPECT_EQ(ns_task_list_problems(task.get(), plan.data(), plan.size(), &problems), NS_OK)
        << ns_last_error();
    return std::string(Handle<char>(problems).get());
  };
  EXPECT_EQ(problems_of(json_of(plan_of(new_planner(), task))), "[]");
  EXPECT_EQ(
      problems_of(R"({"steps": [9], "shards": [[0, 1, 2, 3, 3, 4]]})"),
      R"([{"kind":"split","slice":9,"what":"column split 0: there is no slice 9",)"
      R"("remedy":"there are 4"},)"
      R"({"kind":"devices","what":"is a plan of 1 device for a task of 2",)"
      R"("remedy":"give the task that it was made for, or plan anew"},)"
      R"({"kind":"slice","device":0,"slice":3,"table":3,"name":"hour",)"
      R"("what":"shard 0: slice 3 is already in shard 0","remedy":"place each slice once"}])");
  char* problems = nullptr;
  EXPECT_EQ(ns_task_list_problems(task.get(), "[", 1, &problems), NS_INVALID_INPUT);
  EXPECT_EQ(problems, nullptr);
}

TEST(CApi, TheBoundIsThatOfTheHardware) {
  const auto task = task_from(kTask);
  double bound_ms = 0.0;
  for (const char* hardware : {"a100", "h100"}) {
    ASSERT_EQ(ns_task_get_cost_bound(task.get(), hardware, &bound_ms), NS_OK) << ns_last_error();
    const Hardware& machine = hardware_named(hardware);
    EXPECT_EQ(bound_ms, cost_bound_ms(machine.gpu, machine.network, task_of(kTask)));
  }
  const double of_h100 = bound_ms;
  ASSERT_EQ(ns_task_get_cost_bound(task.get(), nullptr, &bound_ms), NS_OK);
  EXPECT_GT(bound_ms, of_h100);
  EXPECT_EQ(ns_task_get_cost_bound(task.get(), "abacus", &bound_ms), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_get_cost_bound(nullptr, nullptr, &bound_ms), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_get_cost_bound(task.get(), nullptr, nullptr), NS_INVALID_INPUT);
  ASSERT_EQ(ns_task_set_memory(task.get(), 1 << 20), NS_OK);
  EXPECT_EQ(ns_task_get_cost_bound(task.get(), nullptr, &bound_ms), NS_INFEASIBLE);
  EXPECT_TRUE(std::isinf(bound_ms));
}

TEST(CApi, FingerprintIsThatOfThePlanner) {
  const auto planner = new_planner(with(&ns_planner_options::effort, "fast"));
  const auto task = task_from(kTask);
  std::uint64_t fingerprint = 0;
  ASSERT_EQ(ns_planner_fingerprint(planner.get(), task.get(), &fingerprint), NS_OK)
      << ns_last_error();
  const TaskFile file = parse_task(kTask, "task");
  const Task same{
      .tables = file.tables, .devices = *file.devices, .memory_bytes = *file.memory_bytes};
  PlannerOptions options{.effort = Effort::kFast, .cuts = Cuts::kColumns};
  EXPECT_EQ(fingerprint, neuroshard::fingerprint(same, options, builtin_weights()));
}

TEST(CApi, PlansOfOtherTasksAreRefused) {
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  const std::string json = json_of(plan_of(planner, task));
  ASSERT_EQ(ns_task_set_devices(task.get(), 4), NS_OK);
  for (const std::string& bad : {json, std::string("{}"), std::string(), json.substr(0, 300)}) {
    EXPECT_EQ(ns_task_check_plan(task.get(), bad.data(), bad.size()), NS_INVALID_INPUT);
    EXPECT_THAT(ns_last_error(), StartsWith("plan: "));
    ns_plan* simulated = nullptr;
    EXPECT_EQ(ns_planner_simulate(planner.get(), task.get(), bad.data(), bad.size(), &simulated),
              NS_INVALID_INPUT);
    EXPECT_EQ(simulated, nullptr);
  }
}

TEST(CApi, ATaskThatCannotFitIsAPlanThatSaysWhy) {
  const auto task = task_from(kTask);
  ASSERT_EQ(ns_task_set_memory(task.get(), 1 << 20), NS_OK);
  const auto plan = plan_of(new_planner(), task, {}, NS_INFEASIBLE);
  ASSERT_NE(plan, nullptr);
  ns_infeasibility why{};
  why.size = sizeof why;
  ASSERT_EQ(ns_plan_get_infeasibility(plan.get(), &why), NS_OK);
  EXPECT_STREQ(why.kind, "total_memory");
  EXPECT_EQ(why.available_bytes, 2 << 20);
  EXPECT_GT(why.needed_bytes, why.available_bytes);
  EXPECT_EQ(why.table, 1);
  EXPECT_GT(why.largest_piece_bytes, 1 << 20);
  EXPECT_THAT(json_of(plan), HasSubstr(ns_last_error()));

  const ns_plan_summary summary = summary_of(plan);
  EXPECT_TRUE(std::isinf(summary.cost_ms));
  EXPECT_EQ(summary.devices, 0);
  EXPECT_EQ(summary.slowest_device, -1);
  EXPECT_TRUE(all_of(ns_plan_get_slices, plan).empty());
}

TEST(CApi, APlanSaysThatItIsFeasible) {
  ns_infeasibility why{};
  why.size = sizeof why;
  ASSERT_EQ(ns_plan_get_infeasibility(plan_of(new_planner(), task_from(kTask)).get(), &why), NS_OK);
  EXPECT_EQ(why.kind, nullptr);
}

TEST(CApi, StopsWhenAsked) {
  ns_stop_source* made = nullptr;
  ASSERT_EQ(ns_stop_source_create(&made), NS_OK);
  Handle<ns_stop_source> source(made);
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  ns_plan_options stopped = with(&ns_plan_options::stop, source.get());
  stopped.deadline_ms = 1e9;
  EXPECT_EQ(summary_of(plan_of(planner, task, stopped)).complete, 1);
  ns_stop_source_request(source.get());
  ns_plan* plan = nullptr;
  const ns_status status = ns_planner_plan(planner.get(), task.get(), &stopped, &plan);
  EXPECT_TRUE(status == NS_OK || status == NS_INFEASIBLE) << status;
  EXPECT_EQ(summary_of(Handle<ns_plan>(plan)).complete, 0);
}

TEST(CApi, ADeadlineEndsASearch) {
  ns_plan* plan = nullptr;
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  const ns_plan_options options = with(&ns_plan_options::deadline_ms, 1e-6);
  const ns_status status = ns_planner_plan(planner.get(), task.get(), &options, &plan);
  EXPECT_TRUE(status == NS_OK || status == NS_INFEASIBLE) << status;
  EXPECT_EQ(summary_of(Handle<ns_plan>(plan)).complete, 0);
}

TEST(CApi, PlannerOptionsAreThoseOfThePlanner) {
  ns_planner_options options{};
  options.backend = "scalar";
  options.algorithm = "size_greedy";
  options.effort = "fast";
  const auto planner = new_planner(options);
  EXPECT_STREQ(ns_planner_backend(planner.get()), "scalar");
  const PlanResult expected =
      Planner(builtin_weights(), {.algorithm = Algorithm::kSizeGreedy, .search = {}})
          .plan(task_of(kTask));
  EXPECT_EQ(summary_of(plan_of(planner, task_from(kTask))).cost_ms, expected.cost.cost_ms);
}

TEST(CApi, ThreadsShareAPlannerAndATaskAndHaveErrorsOfTheirOwn) {
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  const double expected = summary_of(plan_of(planner, task)).cost_ms;
  EXPECT_EQ(ns_task_set_devices(nullptr, 1), NS_INVALID_INPUT);
  std::vector<double> costs(4);
  std::vector<std::string> errors(4, "not asked");
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      threads.emplace_back([&, i] {
        errors[i] = ns_last_error();
        costs[i] = summary_of(plan_of(planner, task)).cost_ms;
      });
    }
  }
  EXPECT_THAT(costs, ::testing::Each(expected));
  EXPECT_THAT(errors, ::testing::Each(""));
  EXPECT_STREQ(ns_last_error(), "task is NULL");
}

TEST(CApi, PlansOutliveWhatTheyWereMadeFrom) {
  Handle<ns_plan> plan;
  {
    const auto planner = new_planner();
    const auto task = task_from(kTask);
    plan = plan_of(planner, task);
  }
  EXPECT_THAT(json_of(plan), HasSubstr("\"name\":\"place\""));
}

}  // namespace
}  // namespace neuroshard::testing
