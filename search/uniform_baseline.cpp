#include "search/uniform_baseline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/table_kind.h"
#include "neuroshard/simulator.h"

namespace neuroshard {
namespace {

constexpr int kWidestSlice = 256;

int slice_dim(int dim, int width) {
  while (dim > width && can_split_columns(dim)) dim /= 2;
  return dim;
}

// Heaviest slices first. What follows the weight tells apart all tables that differ in cost, so
// that only equal ones are placed in the order in which the task lists them.
std::vector<std::size_t> table_order(const Task& task, int width) {
  const auto weight = [&](const Table& table) {
    return slice_dim(table.dim, width) * table.pooling_factor;
  };
  std::vector<std::size_t> order(task.tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Table& x = task.tables[a];
    const Table& y = task.tables[b];
    const double weight_x = weight(x);
    const double weight_y = weight(y);
    if (weight_x != weight_y) return weight_x > weight_y;
    return std::pair(kind_of(y), a) < std::pair(kind_of(x), b);
  });
  return order;
}

}  // namespace

std::optional<Plan> plan_of_uniform_width(const Task& task, int width) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  std::vector<std::vector<int>> slices_of(task.tables.size());
  int slices = static_cast<int>(task.tables.size());
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    std::vector<int>& own = slices_of[t];
    own.push_back(static_cast<int>(t));
    for (int dim = task.tables[t].dim; dim > width && can_split_columns(dim); dim /= 2) {
      const std::size_t before = own.size();
      for (std::size_t i = 0; i < before; ++i) {
        plan.column_splits.push_back(own[i]);
        own.push_back(slices++);
      }
    }
  }

  std::set<std::pair<std::int64_t, std::size_t>> by_dim_sum;
  for (std::size_t d = 0; d < plan.shards.size(); ++d) by_dim_sum.emplace(0, d);
  std::vector<std::int64_t> memory(plan.shards.size(), 0);
  for (const std::size_t t : table_order(task, width)) {
    const int dim = slice_dim(task.tables[t].dim, width);
    const std::int64_t size = task.tables[t].rows * dim * 4;
    for (const int slice : slices_of[t]) {
      const auto found = std::find_if(by_dim_sum.begin(), by_dim_sum.end(), [&](const auto& entry) {
        return memory[entry.second] <= task.memory_bytes - size;
      });
      if (found == by_dim_sum.end()) return std::nullopt;
      auto entry = by_dim_sum.extract(found);
      plan.shards[entry.value().second].push_back(slice);
      memory[entry.value().second] += size;
      entry.value().first += dim;
      by_dim_sum.insert(std::move(entry));
    }
  }
  return plan;
}

std::optional<Plan> cheapest_uniform_plan(const Backend& backend, const Task& task) {
  std::optional<Plan> best;
  double best_ms = std::numeric_limits<double>::infinity();
  for (int width = kWidestSlice; width >= kDimMultiple; width /= 2) {
    std::optional<Plan> plan = plan_of_uniform_width(task, width);
    if (!plan) continue;
    const double cost_ms = simulate(backend, task, *plan).cost_ms;
    if (best && !(cost_ms < best_ms)) continue;
    best = std::move(plan);
    best_ms = cost_ms;
  }
  return best;
}

}  // namespace neuroshard
