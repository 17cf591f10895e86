// Tests what the C interface says of arguments that are wrong, missing, or of another version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "search/c_api_handles.h"

namespace neuroshard::testing {
namespace {

using ::testing::HasSubstr;

TEST(CApi, OneOptionCanBeWrong) {
  const auto expect_refused = [](const ns_planner_options& options, ns_status status,
                                 const char* text) {
    SCOPED_TRACE(text);
    const auto earlier = new_planner();
    ns_planner* planner = earlier.get();
    EXPECT_EQ(ns_planner_create(&options, &planner), status);
    EXPECT_EQ(planner, nullptr);
    EXPECT_THAT(ns_last_error(), HasSubstr(text));
  };
  expect_refused(with(&ns_planner_options::effort, "heroic"), NS_INVALID_INPUT, "heroic");
  expect_refused(with(&ns_planner_options::cuts, "diagonal"), NS_INVALID_INPUT, "diagonal");
  expect_refused(with(&ns_planner_options::algorithm, "magic"), NS_INVALID_INPUT, "magic");
  expect_refused(with(&ns_planner_options::backend, "abacus"), NS_INVALID_INPUT, "abacus");
  expect_refused(with(&ns_planner_options::threads, -1), NS_INVALID_INPUT, "threads is -1");
  expect_refused(with(&ns_planner_options::weights_path, "/no/such/file"), NS_IO,
                 "/no/such/file: cannot be read");
  expect_refused(with(&ns_planner_options::reserved, 1), NS_INVALID_INPUT, "does not know");
}

// The rules by which structs of older and newer headers are told apart.
TEST(CApi, OptionsOfAnotherSize) {
  struct {
    ns_plan_options known;
    std::int64_t newer;
  } larger{};
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  const auto plan = [&](std::size_t size) {
    larger.known.size = size;
    ns_plan* result = nullptr;
    const ns_status status = ns_planner_plan(planner.get(), task.get(), &larger.known, &result);
    EXPECT_EQ(status == NS_OK, result != nullptr);
    ns_plan_free(result);
    return status;
  };
  EXPECT_EQ(plan(sizeof larger), NS_OK) << ns_last_error();
  larger.newer = 1;
  EXPECT_EQ(plan(sizeof larger), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr("does not know; use a newer one"));
  EXPECT_EQ(plan(sizeof larger.known), NS_OK);
  constexpr std::size_t kFirst = offsetof(ns_plan_options, on_improvement);  // In version 1.
  EXPECT_EQ(plan(kFirst), NS_OK);
  for (const std::size_t size : {std::size_t{0}, kFirst - 1, SIZE_MAX}) {
    EXPECT_EQ(plan(size), NS_INVALID_INPUT);
    EXPECT_THAT(ns_last_error(), HasSubstr("set it to sizeof(ns_plan_options)"));
  }
}

TEST(CApi, ResultsOfAnotherSize) {
  struct {
    ns_plan_summary known;
    std::int64_t newer;
  } larger{};
  const auto plan = plan_of(new_planner(), task_from(kTask));
  larger.known.size = sizeof larger;
  larger.newer = 1;
  ASSERT_EQ(ns_plan_get_summary(plan.get(), &larger.known), NS_OK);
  EXPECT_EQ(larger.known.size, sizeof larger);
  EXPECT_EQ(larger.known.devices, 2);
  EXPECT_EQ(larger.newer, 0);
  larger.known.size = 0;
  EXPECT_EQ(ns_plan_get_summary(plan.get(), &larger.known), NS_INVALID_INPUT);
}

TEST(CApi, ATaskMayLeaveDevicesToTheCaller) {
  const std::string json =
      R"({"format": "neuroshard.task", "version": 1,
          "tables": [{"row": 1000, "dim": 16, "pooling_factor": 1}]})";
  const auto planner = new_planner();
  const auto task = task_from(json);
  EXPECT_EQ(plan_of(planner, task, {}, NS_INVALID_INPUT), nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("call ns_task_set_devices"));
  EXPECT_EQ(ns_task_set_devices(task.get(), 0), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_set_devices(task.get(), 16385), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_set_devices(task.get(), 2), NS_OK);
  EXPECT_EQ(plan_of(planner, task, {}, NS_INVALID_INPUT), nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("call ns_task_set_memory"));
  EXPECT_EQ(ns_task_set_memory(task.get(), 0), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_set_memory(task.get(), 1 << 20), NS_OK);
  EXPECT_NE(plan_of(planner, task), nullptr);
}

TEST(CApi, HostMemoryMayBeOther) {
  const auto planner = new_planner();
  const auto task = task_from(
      R"({"format": "neuroshard.task", "version": 1, "devices": 2, "memory_gb": 0.1,
          "host_memory": {"gb": 0.1, "link_gb_s": 25},
          "tables": [{"row": 4000000, "dim": 64, "pooling_factor": 1}]})");
  plan_of(planner, task, {}, NS_INFEASIBLE);
  EXPECT_EQ(ns_task_set_host_memory(task.get(), -1), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr("bytes is -1"));
  EXPECT_EQ(ns_task_set_host_memory(task.get(), 1 << 30), NS_OK);
  EXPECT_NE(plan_of(planner, task), nullptr);
  EXPECT_EQ(ns_task_set_host_memory(task.get(), 0), NS_OK);
  plan_of(planner, task, {}, NS_INFEASIBLE);
  EXPECT_EQ(ns_task_set_host_memory(task.get(), 1 << 30), NS_OK);
  EXPECT_EQ(plan_of(planner, task, {}, NS_INVALID_INPUT), nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr("link_gb_s"));
}

TEST(CApi, NullIsAnErrorOrNothing) {
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  ns_plan* plan = nullptr;
  ns_plan_summary summary{};
  summary.size = sizeof summary;
  std::size_t count = 0;
  char* json = nullptr;
  ns_task* no_task = nullptr;
  EXPECT_EQ(ns_task_from_json(nullptr, 0, &no_task), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_from_json(kTask, std::strlen(kTask), nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_set_devices(nullptr, 1), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_set_memory(nullptr, 1), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_set_host_memory(nullptr, 1), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_check_plan(nullptr, "", 0), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_check_plan(task.get(), nullptr, 0), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_list_problems(nullptr, "", 0, &json), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_list_problems(task.get(), nullptr, 0, &json), NS_INVALID_INPUT);
  EXPECT_EQ(ns_task_list_problems(task.get(), "{}", 2, nullptr), NS_INVALID_INPUT);
  std::uint64_t fingerprint = 7;
  EXPECT_EQ(ns_planner_fingerprint(nullptr, task.get(), &fingerprint), NS_INVALID_INPUT);
  EXPECT_EQ(ns_planner_fingerprint(planner.get(), nullptr, &fingerprint), NS_INVALID_INPUT);
  EXPECT_EQ(ns_planner_fingerprint(planner.get(), task.get(), nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(fingerprint, 7U);
  EXPECT_EQ(ns_planner_create(nullptr, nullptr), NS_INVALID_INPUT);
  EXPECT_STREQ(ns_planner_backend(nullptr), "");
  EXPECT_EQ(ns_planner_plan(nullptr, task.get(), nullptr, &plan), NS_INVALID_INPUT);
  EXPECT_EQ(ns_planner_plan(planner.get(), nullptr, nullptr, &plan), NS_INVALID_INPUT);
  EXPECT_STREQ(ns_last_error(), "task is NULL");
  EXPECT_EQ(ns_planner_plan(planner.get(), task.get(), nullptr, nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_planner_simulate(nullptr, task.get(), "", 0, &plan), NS_INVALID_INPUT);
  EXPECT_EQ(ns_stop_source_create(nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_summary(nullptr, &summary), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_slices(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_devices(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_device_memory(nullptr, nullptr, 0, &count), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_infeasibility(nullptr, nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_alternative(nullptr, 0, &plan), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_to_json(nullptr, &json), NS_INVALID_INPUT);
  const auto made = plan_of(planner, task);
  EXPECT_EQ(ns_plan_get_summary(made.get(), nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_get_slices(made.get(), nullptr, 0, nullptr), NS_INVALID_INPUT);
  EXPECT_EQ(ns_plan_to_json(made.get(), nullptr), NS_INVALID_INPUT);
  ns_task_free(nullptr);
  ns_planner_free(nullptr);
  ns_stop_source_request(nullptr);
  ns_stop_source_free(nullptr);
  ns_plan_free(nullptr);
  ns_string_free(nullptr);
}

TEST(CApi, LengthsThatNoTextHasAreErrors) {
  const auto planner = new_planner();
  const auto task = task_from(kTask);
  for (const std::size_t length : {SIZE_MAX, std::size_t{1} << 62, (std::size_t{1} << 28) + 1}) {
    ns_task* made = nullptr;
    ns_plan* plan = nullptr;
    char* problems = nullptr;
    const std::string error = "length is " + std::to_string(length) + "; give at most ";
    EXPECT_EQ(ns_task_from_json(kTask, length, &made), NS_INVALID_INPUT);
    EXPECT_THAT(ns_last_error(), HasSubstr(error + "67108864"));
    EXPECT_EQ(ns_task_check_plan(task.get(), "{}", length), NS_INVALID_INPUT);
    EXPECT_THAT(ns_last_error(), HasSubstr(error + "268435456"));
    EXPECT_EQ(ns_task_list_problems(task.get(), "{}", length, &problems), NS_INVALID_INPUT);
    EXPECT_EQ(ns_planner_simulate(planner.get(), task.get(), "{}", length, &plan),
              NS_INVALID_INPUT);
    EXPECT_THAT(ns_last_error(), HasSubstr(error));
  }
}

// Whatever room there is said to be, no more is written than there are.
TEST(CApi, RoomForMoreThanMemoryHoldsIsRoom) {
  const auto plan = plan_of(new_planner(), task_from(kTask));
  std::size_t count = 0;
  ASSERT_EQ(ns_plan_get_blocks(plan.get(), nullptr, 0, &count), NS_OK);
  std::vector<ns_block> blocks(count);
  EXPECT_EQ(ns_plan_get_blocks(plan.get(), blocks.data(), SIZE_MAX, &count), NS_OK);
  EXPECT_EQ(count, blocks.size());
  ns_plan* alternative = nullptr;
  EXPECT_EQ(ns_plan_get_alternative(plan.get(), SIZE_MAX, &alternative), NS_INVALID_INPUT);
}

TEST(CApi, AVeryLongMessageIsCutBetweenCharacters) {
  std::string path = "/";
  for (int i = 0; i < 3000; ++i) path += "é";
  const ns_planner_options options = with(&ns_planner_options::weights_path, path.c_str());
  ns_planner* planner = nullptr;
  EXPECT_EQ(ns_planner_create(&options, &planner), NS_IO);
  const std::string message = ns_last_error();
  EXPECT_GT(message.size(), 4000U);
  EXPECT_LT(message.size(), 4096U);
  EXPECT_TRUE(message.ends_with("é"));
}

}  // namespace
}  // namespace neuroshard::testing
