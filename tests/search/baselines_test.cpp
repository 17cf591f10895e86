#include "search/baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "neuroshard/backend.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::random_models;
using testing::random_task;

/// The slices in this order, each to the device of the lowest sum of `key` with room; over its
/// speed if `speeds`.
std::optional<Plan> placed_in_order(const Task& task, const std::vector<int>& column_splits,
                                    const std::vector<int>& order,
                                    const std::function<double(const Table&)>& key,
                                    bool speeds = false) {
  const std::vector<TableSlice> slices = split_columns(task, column_splits);
  Plan plan{.slices = slices,
            .shards = std::vector<std::vector<int>>(static_cast<std::size_t>(task.devices))};
  std::vector<double> sums(plan.shards.size());
  std::vector<std::int64_t> memory(plan.shards.size());
  for (const int id : order) {
    const TableSlice& slice = slices[static_cast<std::size_t>(id)];
    Table table = task.tables[static_cast<std::size_t>(slice.table)];
    table.dim = slice.dim;
    int best = -1;
    const auto load = [&](int d) {
      return speeds && !task.device_list.empty() ? sums[d] / task.device_list[d].speed : sums[d];
    };
    for (int d = 0; d < task.devices; ++d) {
      if (memory[d] + table.size_bytes() > room_bytes(task, d)) continue;
      if (best < 0 || load(d) < load(best)) best = d;
    }
    if (best < 0) return std::nullopt;
    plan.shards[best].push_back(id);
    sums[best] += key(table);
    memory[best] += table.size_bytes();
  }
  return plan;
}

double lookups(const Table& table) { return table.dim * table.pooling_factor; }

TEST(Baselines, GreedyOnesPlaceTheLargestKeyOnTheDeviceOfTheLowestSum) {
  const std::vector<std::pair<Algorithm, std::function<double(const Table&)>>> keys = {
      {Algorithm::kDimGreedy, [](const Table& table) { return table.dim; }},
      {Algorithm::kSizeGreedy,
       [](const Table& table) { return static_cast<double>(table.size_bytes()); }},
      {Algorithm::kLookupGreedy, lookups},
      {Algorithm::kSizeLookupGreedy, [](const Table& table) {
         return lookups(table) * std::log10(static_cast<double>(table.rows));
       }}};
  for (const auto& [algorithm, key] : keys) {
    SCOPED_TRACE(name_of(algorithm));
    const bool speeds =
        algorithm == Algorithm::kLookupGreedy || algorithm == Algorithm::kSizeLookupGreedy;
    for (const std::uint64_t seed : testing::Seeds(drawn_tasks(300))) {
      Task task = random_task(seed);
      for (int d = 0; seed % 3 == 0 && d < task.devices; ++d) {
        task.device_list.push_back({.memory_bytes = task.memory_bytes, .speed = 1.0 + d % 3});
      }
      std::vector<int> order;
      for (int t = static_cast<int>(task.tables.size()) - 1; t >= 0; --t) order.push_back(t);
      std::stable_sort(order.begin(), order.end(), [&, &key = key](int a, int b) {
        const Table& x = task.tables[static_cast<std::size_t>(a)];
        const Table& y = task.tables[static_cast<std::size_t>(b)];
        return std::pair(key(x), x.size_bytes()) > std::pair(key(y), y.size_bytes());
      });
      EXPECT_EQ(place_by_baseline(task, algorithm, 0),
                placed_in_order(task, {}, order, key, speeds));
    }
  }
}

/// One after the other, slices that are too wide are halved.
std::vector<int> splits_to_width(const Task& task, int width) {
  std::vector<int> splits;
  for (;;) {
    const std::vector<TableSlice> slices = split_columns(task, splits);
    const auto wide = std::find_if(slices.begin(), slices.end(), [&](const TableSlice& slice) {
      return slice.dim > width && can_split_columns(slice.dim);
    });
    if (wide == slices.end()) return splits;
    splits.push_back(static_cast<int>(wide - slices.begin()));
  }
}

double cost_of_width(const Backend& backend, const Task& task, int width) {
  const std::vector<int> splits = splits_to_width(task, width);
  const std::vector<TableSlice> slices = split_columns(task, splits);
  std::vector<int> order(slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto rank = [&](int id) {
      const TableSlice& slice = slices[static_cast<std::size_t>(id)];
      const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
      return std::tuple(
          -slice.dim * table.pooling_factor, -table.rows, -table.dim,
          [&] {
            auto histogram = table.access_histogram;
            for (double& share : histogram) share = -share;
            return histogram;
          }(),
          slice.table);
    };
    return rank(a) < rank(b);
  });
  const auto plan = placed_in_order(task, splits, order, [](const Table& t) { return t.dim; });
  return plan ? simulate(backend, task, *plan).cost_ms : std::numeric_limits<double>::infinity();
}

TEST(Baselines, UniformIsTheCheapestOfItsWidths) {
  const CostModels models = random_models(4);
  const auto backend = make_cpu_backend(models);
  int found = 0;
  int not_found = 0;
  std::set<std::size_t> numbers_of_splits;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    const Task task = random_task(seed);
    double cheapest = std::numeric_limits<double>::infinity();
    for (const int width : {4, 8, 16, 32, 64, 128, 256}) {
      cheapest = std::min(cheapest, cost_of_width(*backend, task, width));
    }
    const auto plan = cheapest_uniform_plan(*backend, task);
    ASSERT_EQ(plan.has_value(), std::isfinite(cheapest));
    if (!plan) {
      ++not_found;
      continue;
    }
    ++found;
    numbers_of_splits.insert(plan->slices.size() - task.tables.size());
    const PlanCost cost = simulate(*backend, task, *plan);
    EXPECT_EQ(cost.cost_ms, cheapest);
    EXPECT_TRUE(cost.fits_memory);
  }
  EXPECT_GT(found, 0);
  EXPECT_GT(not_found, 0);
  EXPECT_GT(numbers_of_splits.size(), testing::kFewTasks ? 2U : 5U);
}

TEST(Baselines, UniformHalvesToTheWidthWhereItCan) {
  Task task{.tables = {}, .devices = 2, .memory_bytes = 1 << 20};
  for (const int dim : {64, 24, 20, 8}) {
    Table table{.rows = 100, .dim = dim, .pooling_factor = 1.0};
    task.tables.push_back(table);
  }
  const auto plan = plan_of_uniform_width(task, 16);
  ASSERT_TRUE(plan);
  EXPECT_NO_THROW(validate(*plan, task));
  std::map<int, std::vector<int>> dims;
  for (const TableSlice& slice : plan->slices) {
    dims[slice.table].push_back(slice.dim);
  }
  EXPECT_THAT(dims[0], ::testing::ElementsAre(16, 16, 16, 16));
  EXPECT_THAT(dims[1], ::testing::ElementsAre(12, 12));
  EXPECT_THAT(dims[2], ::testing::ElementsAre(20));  // 10 columns would not be a multiple of 4.
  EXPECT_THAT(dims[3], ::testing::ElementsAre(8));
}

TEST(Baselines, UniformDoesNotDependOnTheOrderOfTables) {
  const CostModels models = random_models(5);
  const auto backend = make_cpu_backend(models);
  std::mt19937_64 random(1);
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const Task task = random_task(seed);
    Task shuffled = task;
    std::shuffle(shuffled.tables.begin(), shuffled.tables.end(), random);
    const auto plan = cheapest_uniform_plan(*backend, task);
    const auto other = cheapest_uniform_plan(*backend, shuffled);
    ASSERT_EQ(plan.has_value(), other.has_value());
    if (!plan) continue;
    EXPECT_EQ(simulate(*backend, task, *plan).cost_ms,
              simulate(*backend, shuffled, *other).cost_ms);
  }
}

}  // namespace
}  // namespace neuroshard
