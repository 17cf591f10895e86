#include "bench/scale/scale_point.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/inputs/random_comm.h"
#include "bench/machine/proc_files.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "core/base/count_up.h"
#include "core/base/random.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

constexpr int kMaxPlans = 101;

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

Task drawn_task(std::span<const Table> tables, int count, int devices, std::uint64_t seed) {
  constexpr std::array kDims = {4, 8, 16, 32, 64, 128};
  Random random(seed);
  std::vector<std::size_t> deck = count_up<std::size_t>(tables.size());
  Task task{.devices = devices};
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (int i = 0; i < count; ++i) {
    // A shuffle as far as it is needed, begun again when the deck is used up.
    const std::size_t dealt = static_cast<std::size_t>(i) % deck.size();
    std::swap(deck[dealt], deck[dealt + random.below(deck.size() - dealt)]);
    Table table = tables[deck[dealt]];
    table.dim = kDims[random.below(kDims.size())];
    total += table.size_bytes();
    largest = std::max(largest, table.size_bytes());
    task.tables.push_back(std::move(table));
  }
  task.memory_bytes = std::max(2 * total / devices, largest);
  return task;
}

// For nlohmann::json.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScalePoint, tables, devices, search_ms, cpu_ms, spread, plans,
                                   peak_bytes, initial_bytes, candidates, head_evaluations,
                                   comm_evaluations, cost_ms, random_comm)

std::string to_json(const ScalePoint& point) { return nlohmann::json(point).dump(); }

ScalePoint scale_point_from_json(const std::string& json) {
  try {
    return nlohmann::json::parse(json).get<ScalePoint>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("a measuring process's answer: ") + error.what());
  }
}

ScalePoint measure_scale_point(CostModels models, const Task& task, const PlannerOptions& options,
                               double seconds) {
  ScalePoint point;
  point.tables = static_cast<int>(task.tables.size());
  point.devices = task.devices;
  point.random_comm = complete_with_random_comm(models, task.devices);
  const Planner planner(std::move(models), options);
  point.initial_bytes = peak_resident_bytes().value_or(0);
  std::vector<double> wall_ms;
  std::vector<double> cpu_ms;
  const Stopwatch all;
  PlanResult result;
  do {
    const Stopwatch one;
    result = planner.plan(task);
    const Elapsed elapsed = one.elapsed();
    wall_ms.push_back(elapsed.wall_ms);
    cpu_ms.push_back(elapsed.cpu_ms);
  } while (all.elapsed().wall_ms < seconds * 1e3 && wall_ms.size() < kMaxPlans);
  point.plans = static_cast<int>(wall_ms.size());
  point.search_ms = median(wall_ms);
  point.cpu_ms = median(cpu_ms);
  point.spread = relative_spread(wall_ms);
  point.peak_bytes = peak_resident_bytes().value_or(0);
  point.candidates = as_signed(result.stats.candidates);
  point.head_evaluations = as_signed(result.stats.head_evaluations);
  point.comm_evaluations = as_signed(result.stats.comm_evaluations);
  point.cost_ms = result.plan ? result.cost.cost_ms : -1.0;
  if (result.plan) validate(*result.plan, task);
  return point;
}

}  // namespace neuroshard::bench
