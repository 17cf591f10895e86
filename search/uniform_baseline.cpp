#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "core/base/count_up.h"
#include "core/base/step_budget.h"
#include "core/tables/table_kind.h"
#include "core/tables/table_rules.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/simulator.h"
#include "search/apart_devices.h"
#include "search/baselines.h"

namespace neuroshard {
namespace {

// Columns of the slices of a table.
int uniform_dim(const Table& table, int width) {
  const int dim = halved_to(width, table.dim);
  if (!table.rules.limit_splits()) return dim;
  return std::max(dim, least_widest_dim(table));
}

constexpr int kWidestSlice = 256;
// More slices than these are not placed: they would take seconds to place, and others to price.
constexpr std::int64_t kMostUniformSlices = std::int64_t{1} << 20;
constexpr std::uint64_t kStepsOfSlice = 32;  // A device is taken from a heap, and put back.

// Heaviest slices first. The kind, which follows the weight, tells apart all tables that differ in
// cost, so that only equal ones are placed in the order in which the task lists them.
std::vector<std::uint32_t> table_order(const Task& task, int width) {
  std::vector<double> weights;
  weights.reserve(task.tables.size());
  for (const Table& table : task.tables) {
    weights.push_back(uniform_dim(table, width) * table.pooling_factor);
  }
  std::vector<std::uint32_t> order = count_up<std::uint32_t>(task.tables.size());
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (weights[a] != weights[b]) return weights[a] > weights[b];
    const Table& x = task.tables[a];
    const Table& y = task.tables[b];
    return std::pair(kind_of(y), a) < std::pair(kind_of(x), b);
  });
  return order;
}

/// Devices with the lowest dim sum first, of equal ones the lowest index.
using ByDimSum = std::pair<std::int64_t, std::uint32_t>;

/// Halves all tables. The numbers of the slices of each, which are all alike.
std::vector<std::vector<int>> halved_tables(const Task& task, int width, HalvedPlan& plan) {
  std::vector<std::vector<int>> slices_of(task.tables.size());
  int slices = static_cast<int>(task.tables.size());
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    std::vector<int>& own = slices_of[t];
    own.push_back(static_cast<int>(t));
    const int narrowest = uniform_dim(task.tables[t], width);
    for (int dim = task.tables[t].dim; dim > narrowest; dim /= 2) {
      const std::size_t before = own.size();
      for (std::size_t i = 0; i < before; ++i) {
        plan.column_splits.push_back(own[i]);
        own.push_back(slices++);
      }
    }
  }
  return slices_of;
}

}  // namespace

std::optional<Plan> plan_of_uniform_width(const Task& task, int width, const StopCondition& stop) {
  if (!task.groups.empty()) {
    return plan_without_groups(
        task, stop, [&](const Task& starts) { return plan_of_uniform_width(starts, width, stop); });
  }
  std::int64_t most = 0;
  for (const Table& table : task.tables) most += table.dim / uniform_dim(table, width);
  if (most > kMostUniformSlices) return std::nullopt;
  HalvedPlan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  std::vector<std::vector<int>> slices_of = halved_tables(task, width, plan);
  std::vector<ByDimSum> waiting;
  for (std::uint32_t d = 0; d < plan.shards.size(); ++d) waiting.emplace_back(0, d);
  std::priority_queue<ByDimSum, std::vector<ByDimSum>, std::greater<>> open({}, std::move(waiting));
  std::vector<ByDimSum> full;  // For slices of the table at hand.
  std::vector<std::int64_t> left = even_rooms_bytes(task);
  StepBudget budget(StepBudget::kAnySteps, stop);
  for (const std::uint32_t t : table_order(task, width)) {
    const Table& table = task.tables[t];
    const int dim = uniform_dim(table, width);
    const DeviceSet allowed = allowed_set(table.rules, task);
    const std::int64_t size = slice_bytes(table, dim);
    // They are handed out from the last one on.
    for (; !slices_of[t].empty(); slices_of[t].pop_back()) {
      if (!budget.take(kStepsOfSlice)) return std::nullopt;
      const auto is_closed = [&](std::uint32_t device) {
        return left[device] < size || !allowed.contains(device);
      };
      while (!open.empty() && is_closed(open.top().second)) {
        if (!budget.take(kStepsOfSlice)) return std::nullopt;
        full.push_back(open.top());
        open.pop();
      }
      if (open.empty()) return std::nullopt;
      const auto [dim_sum, device] = open.top();
      open.pop();
      open.emplace(dim_sum + dim, device);
      left[device] -= size;
      plan.shards[device].push_back(slices_of[t].back());
    }
    for (const ByDimSum& device : full) open.push(device);
    full.clear();
  }
  return plan_from_halvings(task, std::move(plan));
}

std::optional<Plan> cheapest_uniform_plan(const Backend& backend, const Task& task,
                                          const StopCondition& stop) {
  std::optional<Plan> best;
  double best_ms = std::numeric_limits<double>::infinity();
  for (int width = kWidestSlice; width >= kDimMultiple; width /= 2) {
    std::optional<Plan> plan = plan_of_uniform_width(task, width, stop);
    if (!plan) continue;
    const double cost_ms = simulate(backend, task, *plan).slowest_ms();
    if (best && !(cost_ms < best_ms)) continue;
    best = std::move(plan);
    best_ms = cost_ms;
  }
  return best;
}

}  // namespace neuroshard
