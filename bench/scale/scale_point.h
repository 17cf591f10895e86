#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "neuroshard/cost_models.h"
#include "neuroshard/planner.h"
#include "neuroshard/task.h"

namespace neuroshard::bench {

/// `count` tables of `tables`, without repeats as long as there are enough, each with a dim drawn
/// from 4, 8, ..., 128; devices have room for twice their share, and for the largest table.
[[nodiscard]] Task drawn_task(std::span<const Table> tables, int count, int devices,
                              std::uint64_t seed);

/// Time and memory of one planning of one task.
struct ScalePoint {
  int tables = 0;
  int devices = 0;
  double search_ms = 0.0;  ///< Median of `plans`.
  double cpu_ms = 0.0;
  double spread = 0.0;
  int plans = 0;
  std::int64_t peak_bytes = 0;     ///< Most memory the process ever had resident; 0: not known.
  std::int64_t initial_bytes = 0;  ///< Before the first plan: program, models, task.
  std::int64_t candidates = 0;
  std::int64_t head_evaluations = 0;
  std::int64_t comm_evaluations = 0;
  double cost_ms = 0.0;  ///< -1: no plan.
  bool random_comm = false;
};

[[nodiscard]] std::string to_json(const ScalePoint& point);
[[nodiscard]] ScalePoint scale_point_from_json(const std::string& json);

/// Plans `task` until `seconds` have passed, once at least and 101 times at most. Device
/// counts without a communication model get a random one.
[[nodiscard]] ScalePoint measure_scale_point(CostModels models, const Task& task,
                                             const PlannerOptions& options, double seconds);

}  // namespace neuroshard::bench
