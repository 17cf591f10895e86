#include "search/engine/best_plans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "neuroshard/simulator.h"
#include "search/canonical_task.h"

namespace neuroshard {

// Costs closer than that are equal to models whose errors are some tenths of a percent.
static constexpr double kTellApart = 1e-4;

/// Table, number of columns, first row, and rows.
using HeldColumns = std::tuple<int, int, std::int64_t, std::int64_t>;
/// The first device that is like this one, and its slices.
using OnDevice = std::pair<std::size_t, std::vector<HeldColumns>>;

/// Slices of each device, by nodes. Devices that can take each other's place are in one order,
/// whatever their order in the plan, and columns of a table are alike.
static std::vector<std::vector<OnDevice>> held_by_nodes(const Task& task, const Plan& plan) {
  std::vector<std::vector<OnDevice>> nodes;
  const std::vector<Device>& listed = task.device_list;
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    if (d % static_cast<std::size_t>(task.devices_per_node) == 0) nodes.emplace_back();
    auto& [alike, slices] = nodes.back().emplace_back();
    if (!listed.empty()) {
      alike = static_cast<std::size_t>(std::ranges::find(listed, listed[d]) - listed.begin());
    }
    for (const int i : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(i)];
      slices.emplace_back(slice.table, slice.dim, slice.first_row, slice.rows);
    }
    std::ranges::sort(slices);
  }
  for (std::vector<OnDevice>& node : nodes) std::ranges::sort(node);
  if (!task.links || task.links->levels.empty()) std::ranges::sort(nodes);
  return nodes;
}

/// Whether the plans differ in nothing but names of devices and columns.
static bool hold_the_same(const Task& task, const Plan& one, const Plan& other) {
  return one.replicas == other.replicas && one.deduplicated == other.deduplicated &&
         one.hot_rows == other.hot_rows && held_by_nodes(task, one) == held_by_nodes(task, other);
}

BestPlans::BestPlans(const Backend& backend, const Task& task, const PlanRequest& request,
                     PlanResult known)
    : BestPlans(backend, task, request) {
  start_ -= std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>(known.stats.search_ms));
  best_ = std::move(known);
  best_ms_ = compared_ms(*best_.plan, best_.cost);
}

double BestPlans::elapsed_ms() const {
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start_;
  return elapsed.count();
}

PlanResult BestPlans::take(SearchStats stats, bool complete) {
  best_.stats = std::move(stats);
  best_.stats.search_ms = elapsed_ms();
  best_.complete = complete;
  return std::move(best_);
}

double BestPlans::charge_ms(const Plan& plan) const {
  const StoragePrice& storage = request_.storage;
  if (storage.ms_per_gib == 0.0) return 0.0;
  return storage.ms(std::ranges::max(stored_bytes(storage, task_, plan)));
}

void BestPlans::consider(Plan considered) {
  Plan plan = in_normal_form(task_, std::move(considered));
  PlanCost cost = simulate(backend_, task_, plan);
  if (!cost.fits_memory) return;
  const double ms = compared_ms(plan, cost);
  if (best_.plan && ms >= best_ms_) return keep_alternative({std::move(plan), std::move(cost)});
  if (best_is_plainer_ && ms >= best_ms_ * (1.0 - kTellApart)) return;
  best_is_plainer_ = false;
  best_ms_ = ms;
  if (best_.plan) {
    CostedPlan second{*std::exchange(best_.plan, std::move(plan)),
                      std::exchange(best_.cost, std::move(cost))};
    keep_alternative(std::move(second));
  } else {
    best_.plan = std::move(plan);
    best_.cost = std::move(cost);
  }
  // It may have been an alternative so far.
  std::erase_if(best_.alternatives, [&](const CostedPlan& other) {
    return hold_the_same(task_, other.plan, *best_.plan);
  });
  if (request_.on_improvement) {
    request_.on_improvement(
        {.plan = *best_.plan, .cost = best_.cost, .elapsed_ms = elapsed_ms(), .stage = stage_});
  }
}

void BestPlans::consider_plainer(const Plan& plan) {
  consider(plan);
  best_is_plainer_ = best_is_plainer_ || (best_.plan && hold_the_same(task_, *best_.plan, plan));
}

void BestPlans::keep_alternative(CostedPlan plan) {
  const auto wanted = static_cast<std::size_t>(request_.alternatives);
  std::vector<CostedPlan>& kept = best_.alternatives;
  const auto is_known = [&](const CostedPlan& one) {
    return hold_the_same(task_, one.plan, plan.plan);
  };
  if (wanted == 0 || hold_the_same(task_, plan.plan, *best_.plan) ||
      std::ranges::any_of(kept, is_known)) {
    return;
  }
  const auto place = std::ranges::upper_bound(
      kept, compared_ms(plan.plan, plan.cost), {},
      [&](const CostedPlan& one) { return compared_ms(one.plan, one.cost); });
  kept.insert(place, std::move(plan));
  if (kept.size() > wanted) kept.pop_back();
}

void add_work(SearchStats& all, const SearchStats& more) {
  all.candidates += more.candidates;
  all.placements += more.placements;
  all.edits += more.edits;
  all.head_evaluations += more.head_evaluations;
  all.comm_evaluations += more.comm_evaluations;
  if (!more.warning.empty()) all.warning = more.warning;
}

}  // namespace neuroshard
