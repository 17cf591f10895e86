#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "neuroshard/c_api.h"

namespace neuroshard::testing {

/// For two devices.
inline constexpr const char* kTask = R"({
  "format": "neuroshard.task", "version": 1, "name": "toy", "notes": "made up",
  "devices": 2, "memory_gb": 1, "tables": [
    {"name": "user", "row": 1000000, "dim": 64, "pooling_factor": 3},
    {"name": "item", "row": 2000000, "dim": 32, "pooling_factor": 20},
    {"name": "place", "row": 5000, "dim": 128, "pooling_factor": 1},
    {"name": "hour", "row": 24, "dim": 16, "pooling_factor": 1}]})";

struct Free {
  void operator()(ns_task* task) const { ns_task_free(task); }
  void operator()(ns_planner* planner) const { ns_planner_free(planner); }
  void operator()(ns_stop_source* source) const { ns_stop_source_free(source); }
  void operator()(ns_plan* plan) const { ns_plan_free(plan); }
  void operator()(ns_groups* groups) const { ns_groups_free(groups); }
  void operator()(char* text) const { ns_string_free(text); }
};
template <typename T>
using Handle = std::unique_ptr<T, Free>;

/// Options with one that is not the default.
template <typename Options, typename Value>
Options with(Value Options::*field, std::type_identity_t<Value> value) {
  Options options{};
  options.size = sizeof options;
  options.*field = value;
  return options;
}

inline Handle<ns_task> task_from(const std::string& json) {
  ns_task* task = nullptr;
  EXPECT_EQ(ns_task_from_json(json.data(), json.size(), &task), NS_OK) << ns_last_error();
  return Handle<ns_task>(task);
}

inline Handle<ns_planner> new_planner(ns_planner_options options = {}) {
  options.size = sizeof options;
  if (options.threads == 0) options.threads = 1;
  ns_planner* planner = nullptr;
  EXPECT_EQ(ns_planner_create(&options, &planner), NS_OK) << ns_last_error();
  return Handle<ns_planner>(planner);
}

inline Handle<ns_plan> plan_of(const Handle<ns_planner>& planner, const Handle<ns_task>& task,
                               ns_plan_options options = {}, ns_status expected = NS_OK) {
  options.size = sizeof options;
  ns_plan* plan = nullptr;
  EXPECT_EQ(ns_planner_plan(planner.get(), task.get(), &options, &plan), expected)
      << ns_last_error();
  return Handle<ns_plan>(plan);
}

inline ns_plan_summary summary_of(const Handle<ns_plan>& plan) {
  ns_plan_summary summary{};
  summary.size = sizeof summary;
  EXPECT_EQ(ns_plan_get_summary(plan.get(), &summary), NS_OK) << ns_last_error();
  return summary;
}

/// All that a function writes of a handle, which is asked first how many these are.
template <typename T, typename Owned>
std::vector<T> all_of(ns_status (*get)(const Owned*, T*, std::size_t, std::size_t*),
                      const Handle<Owned>& handle) {
  std::size_t count = 0;
  EXPECT_EQ(get(handle.get(), nullptr, 0, &count), NS_OK) << ns_last_error();
  std::vector<T> all(count);
  EXPECT_EQ(get(handle.get(), all.data(), count, &count), NS_OK) << ns_last_error();
  EXPECT_EQ(count, all.size());
  return all;
}

inline std::string json_of(const Handle<ns_plan>& plan) {
  char* json = nullptr;
  EXPECT_EQ(ns_plan_to_json(plan.get(), &json), NS_OK) << ns_last_error();
  const Handle<char> owner(json);
  return json;
}

}  // namespace neuroshard::testing
