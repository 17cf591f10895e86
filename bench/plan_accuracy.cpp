#include "bench/plan_accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "neuroshard/simulator.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::bench {
namespace {

// Splits that leave no table with more than `width` columns, as far as its dim can be halved.
std::vector<int> splits_to_width(const Task& task, int width) {
  std::vector<int> dims;
  for (const Table& table : task.tables) dims.push_back(table.dim);
  std::vector<int> splits;
  for (std::size_t slice = 0; slice < dims.size(); ++slice) {
    while (dims[slice] > width && can_split_columns(dims[slice])) {
      splits.push_back(static_cast<int>(slice));
      dims[slice] /= 2;
      dims.push_back(dims[slice]);
    }
  }
  return splits;
}

}  // namespace

std::optional<Plan> uniform_width_plan(const Task& task, int width, int used_devices) {
  Plan plan{splits_to_width(task, width), {}};
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  const std::vector<TableSlice> slices = split_columns(task, plan.column_splits);
  const auto table_of = [&](int slice) -> const Table& {
    return task.tables[static_cast<std::size_t>(slices[static_cast<std::size_t>(slice)].table)];
  };
  std::vector<int> order(slices.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return slices[static_cast<std::size_t>(a)].dim * table_of(a).pooling_factor >
           slices[static_cast<std::size_t>(b)].dim * table_of(b).pooling_factor;
  });

  std::vector<std::int64_t> room_bytes(plan.shards.size(), task.memory_bytes);
  std::set<std::pair<std::int64_t, int>> by_dim_sum;
  for (int device = 0; device < used_devices; ++device) by_dim_sum.emplace(0, device);
  for (const int slice : order) {
    const int dim = slices[static_cast<std::size_t>(slice)].dim;
    const std::int64_t bytes = table_of(slice).rows * dim * 4;
    const auto found =
        std::find_if(by_dim_sum.begin(), by_dim_sum.end(), [&](const auto& candidate) {
          return room_bytes[static_cast<std::size_t>(candidate.second)] >= bytes;
        });
    if (found == by_dim_sum.end()) return std::nullopt;
    const auto [dim_sum, device] = *found;
    by_dim_sum.erase(found);
    by_dim_sum.emplace(dim_sum + dim, device);
    room_bytes[static_cast<std::size_t>(device)] -= bytes;
    plan.shards[static_cast<std::size_t>(device)].push_back(slice);
  }
  return plan;
}

std::vector<Plan> uniform_width_plans(const Task& task) {
  std::vector<Plan> plans;
  for (const int used_devices : {task.devices, task.devices / 2}) {
    if (used_devices == 0) continue;
    for (int width = 4; width <= 256; width *= 2) {
      std::optional<Plan> plan = uniform_width_plan(task, width, used_devices);
      if (plan && std::find(plans.begin(), plans.end(), *plan) == plans.end()) {
        plans.push_back(std::move(*plan));
      }
    }
  }
  return plans;
}

void PlanAccuracy::add(const Backend& backend, const Task& task, const Plan& plan) {
  const double analytic_ms =
      analytic_plan_cost(gpu_named("a100-sxm-80gb"), network_named("a100-nvlink3-hdr"), task, plan)
          .cost_ms;
  ratios_.push_back(simulate(backend, task, plan).cost_ms / analytic_ms);
}

double PlanAccuracy::mape() const {
  double sum = 0.0;
  for (const double ratio : ratios_) sum += std::abs(ratio - 1.0);
  return sum / static_cast<double>(ratios_.size());
}

double PlanAccuracy::bias() const {
  return std::accumulate(ratios_.begin(), ratios_.end(), 0.0) /
             static_cast<double>(ratios_.size()) -
         1.0;
}

double PlanAccuracy::least_ratio() const {
  return *std::min_element(ratios_.begin(), ratios_.end());
}

double PlanAccuracy::largest_ratio() const {
  return *std::max_element(ratios_.begin(), ratios_.end());
}

}  // namespace neuroshard::bench
