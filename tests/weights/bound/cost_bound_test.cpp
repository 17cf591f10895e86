#include "neuroshard/cost_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/plan_check.h"
#include "random_tasks.h"
#include "search/random_rules.h"
#include "search/tiny_tasks.h"
#include "weights/bound/drawn_ways.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Hardware& drawn_hardware(Random& random) {
  const auto known = known_hardware();
  return known[random.below(known.size())];
}

double price(const Hardware& machine, const Task& task, const Plan& plan) {
  return analytic_plan_cost(machine.gpu, machine.network, task, plan).cost_ms;
}

double bound_of(const Hardware& machine, const Task& task) {
  return cost_bound_ms(machine.gpu, machine.network, task);
}

/// Draws what tasks say besides tables and rules.
void add_features(Task& task, Random& random) {
  for (Table& table : task.tables) {
    if (random.below(4) == 0) table.features = 1.0 + 3.0 * random.uniform();
    if (random.below(4) == 0) table.pooling = Pooling::kMean;
    if (random.below(5) == 0) {
      table.pooling = Pooling::kNone;
    } else {
      table.weighted = random.below(4) == 0;
    }
    if (random.below(4) == 0) table.row_shares = {0.6, 0.3, 0.1};
    if (random.below(4) == 0) table.replica_gradients = ReplicaGradients::kTouched;
  }
  if (random.below(3) == 0) {
    task.links = NodeLinks{.in_node_gb_s = 30.0, .node_gb_s = random.below(2) == 0 ? 12.0 : 0.0};
    task.devices_per_node = 1 + static_cast<int>(random.below(3));
    if (task.devices % (2 * task.devices_per_node) == 0) {
      task.links->levels = {{.devices = 2 * task.devices_per_node, .gb_s = 6.0}};
    }
  }
  if (random.below(3) == 0) {
    task.exchange = {.forward = WireType::kFp16,
                     .ids = WireType::kInt32,
                     .backward_share = 0.5,
                     .deduplicate_ids = random.below(2) == 0};
  }
  if (!task.exchange.deduplicate_ids && random.below(3) == 0) {
    task.host = {.bytes = std::max<std::int64_t>(1, task.memory_bytes / 2),
                 .link_gb_s = 25.0,
                 .policy = random.below(2) == 0 ? HostPolicy::kStatic : HostPolicy::kLru,
                 .prefetch = random.below(2) == 0};
  }
  if (random.below(3) == 0) {
    task.overlap = {.ids = random.below(2) == 0,
                    .dense_ms = random.uniform(),
                    .dense_beside_outputs_ms = random.uniform(),
                    .dense_beside_gradients_ms = random.uniform(),
                    .host_ms = random.below(4) == 0 ? 1.0 : 0.0};
  }
}

/// The cheapest plan that fits and keeps all rules.
double cheapest(const Hardware& machine, const Task& task,
                const std::vector<std::vector<PlacedTable>>& ways) {
  double least = kInfinity;
  std::vector<std::size_t> chosen(ways.size(), 0);
  for (;;) {
    Plan plan;
    plan.shards.resize(static_cast<std::size_t>(task.devices));
    for (std::size_t t = 0; t < ways.size(); ++t) {
      place(ways[t][chosen[t]], static_cast<int>(t), plan);
    }
    if (check_plan(plan, task).empty()) least = std::min(least, price(machine, task, plan));
    std::size_t t = 0;
    while (t < ways.size() && ++chosen[t] == ways[t].size()) chosen[t++] = 0;
    if (t == ways.size()) return least;
  }
}

TEST(CostBound, IsNoMoreThanTheCheapestOfAllPlans) {
  const SeedRange seeds = random_task_seeds(50);
  int tasks = 0;
  int equal = 0;
  int near = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    Task task = tiny_task_of_any_cuts(seed);
    Random random(seed, 71);
    add_features(task, random);
    if (!is_valid(task)) continue;
    std::vector<std::vector<PlacedTable>> ways;
    std::size_t plans = 1;
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      plans *= ways.emplace_back(all_ways(task, static_cast<int>(t))).size();
    }
    if (plans > 4000) continue;
    const Hardware& machine = drawn_hardware(random);
    const double bound = bound_of(machine, task);
    const double least = cheapest(machine, task, ways);
    if (least == kInfinity) continue;
    ASSERT_LE(bound, least) << "seed " << seed;
    ++tasks;
    if (bound >= least * (1.0 - 1e-6)) ++equal;
    if (bound >= least * 0.99) ++near;
  }
  // Row blocks of other rows than equal ones are not among all plans: some are cheaper.
  EXPECT_GE(4 * tasks, static_cast<int>(seeds.end - seeds.first));
  EXPECT_GE(8 * equal, tasks);
  EXPECT_GE(5 * near, 2 * tasks);
}

TEST(CostBound, IsNoMoreThanDrawnPlans) {
  const SeedRange seeds = random_task_seeds(16);
  int plans = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    Task task = random_task_of_all_kinds(seed);
    task.exchange.deduplicate_by_table = false;  // No bound is known then.
    Random random(seed, 72);
    if (random.below(2) == 0) add_features(task, random);
    if (random.below(2) == 0) add_random_rules(task, random);
    if (!is_valid(task)) continue;
    const Hardware& machine = drawn_hardware(random);
    const double bound = bound_of(machine, task);
    for (int draw = 0; draw < 40; ++draw) {
      Plan plan;
      plan.shards.resize(static_cast<std::size_t>(task.devices));
      for (std::size_t t = 0; t < task.tables.size(); ++t) {
        place(drawn_way(task, static_cast<int>(t), random), static_cast<int>(t), plan);
      }
      if (!check_plan(plan, task).empty()) continue;
      ++plans;
      ASSERT_LE(bound, price(machine, task, plan)) << "seed " << seed;
    }
  }
  EXPECT_GE(plans, 5 * static_cast<int>(seeds.end - seeds.first));
}

Task twins(int tables, int devices) {
  Task task{.devices = devices, .memory_bytes = bytes_from_gib(80.0)};
  for (int t = 0; t < tables; ++t) {
    task.tables.push_back({.name = "",
                           .rows = 40'000'000,
                           .dim = 128,
                           .pooling_factor = 20.0,
                           .access_histogram = {0.9, 0.1}});
    task.tables.back().rules.kinds = {ShardingKind::kTable};
  }
  return task;
}

TEST(CostBound, IsTheCostOfOneTableOnEachDevice) {
  const Hardware& machine = hardware_named("h100");
  const Task task = twins(4, 4);
  const Plan plan{.slices = whole_tables(task), .shards = {{0}, {1}, {2}, {3}}};
  const double cost_ms = price(machine, task, plan);
  EXPECT_LE(bound_of(machine, task), cost_ms);
  EXPECT_NEAR(bound_of(machine, task), cost_ms, 1e-6 * cost_ms);
}

TEST(CostBound, KnowsThatFiveTablesAreTwoOnSomeOfFourDevices) {
  const Hardware& machine = hardware_named("h100");
  const Task task = twins(5, 4);
  const Plan plan{.slices = whole_tables(task), .shards = {{0, 4}, {1}, {2}, {3}}};
  EXPECT_GT(bound_of(machine, task), 0.95 * price(machine, task, plan));
  EXPECT_LE(bound_of(machine, task), price(machine, task, plan));
}

TEST(CostBound, KnowsThatNarrowTablesTakeLongerBesideWideOnes) {
  const Hardware& machine = hardware_named("h100");
  constexpr int kWide = 8;
  constexpr int kNarrow = 24;
  Task task = twins(kWide + kNarrow, 4);
  task.memory_bytes = bytes_from_gib(500.0);
  for (int t = 0; t < kWide + kNarrow; ++t) {
    Table& table = task.tables[static_cast<std::size_t>(t)];
    if (t >= kWide) table.dim = 16;
    table.pooling_factor = t < kWide ? 1.0 : 60.0;
  }
  // By how many wide tables and narrow ones each device has.
  double least = kInfinity;
  std::vector<std::vector<int>> wide;
  std::vector<std::vector<int>> narrow;
  for (const auto& [count, all] : {std::pair(kWide, &wide), std::pair(kNarrow, &narrow)}) {
    for (int a = 0; a <= count; ++a) {
      for (int b = 0; a + b <= count; ++b) {
        for (int c = 0; a + b + c <= count; ++c) all->push_back({a, b, c, count - a - b - c});
      }
    }
  }
  for (const std::vector<int>& of_wide : wide) {
    if (!std::ranges::is_sorted(of_wide)) continue;  // Devices are alike.
    for (const std::vector<int>& of_narrow : narrow) {
      Plan plan{.slices = whole_tables(task), .shards = {}};
      int next_wide = 0;
      int next_narrow = kWide;
      for (std::size_t d = 0; d < 4; ++d) {
        std::vector<int>& shard = plan.shards.emplace_back();
        for (int i = 0; i < of_wide[d]; ++i) shard.push_back(next_wide++);
        for (int i = 0; i < of_narrow[d]; ++i) shard.push_back(next_narrow++);
      }
      least = std::min(least, price(machine, task, plan));
    }
  }
  const double bound_ms = bound_of(machine, task);
  EXPECT_LE(bound_ms, least);
  EXPECT_GT(bound_ms, 0.92 * least);  // Each table alone: 0.82.
}

TEST(CostBound, IsInfiniteWhereNothingFits) {
  Task task = twins(2, 2);
  task.memory_bytes = bytes_from_gib(10.0);
  EXPECT_EQ(bound_of(hardware_named("a100"), task), kInfinity);
}

TEST(CostBound, IsNoLessThanTheHost) {
  Task task = twins(2, 2);
  task.overlap.host_ms = 1000.0;
  EXPECT_EQ(bound_of(hardware_named("a100"), task), 1000.0);
}

TEST(CostBound, GrowsWhereMemoryForcesCuts) {
  Task task = twins(2, 2);
  task.tables[0].rows *= 2;  // 38 GiB.
  task.tables[0].rules.kinds = {ShardingKind::kColumn};
  const double ample_ms = bound_of(hardware_named("a100"), task);
  task.memory_bytes = bytes_from_gib(39.0);
  EXPECT_NEAR(bound_of(hardware_named("a100"), task), ample_ms, 1e-3 * ample_ms);
  task.memory_bytes = bytes_from_gib(30.0);
  EXPECT_GT(bound_of(hardware_named("a100"), task), 1.02 * ample_ms);
}

}  // namespace
}  // namespace neuroshard::testing
