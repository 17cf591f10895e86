// States of random tasks beside simulate(): what they cost, what edits cost, and taking them back.
#include "search/state/edit_prices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/tables/host_shares.h"
#include "core/tables/table_groups.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/canonical_task.h"
#include "search/plan_recount.h"
#include "search/planned_cuts.h"
#include "search/random_layouts.h"
#include "search/random_rules.h"
#include "search/state/followed_edits.h"

namespace neuroshard {
namespace {

constexpr double kExact = 1e-5;      // Share of a cost: sums in another order.
constexpr double kEstimated = 2e-2;  // With many devices, between two looks at all of them.

/// A task of everything that a task can say, a plan of it, and what prices it.
struct Case {
  Task task;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<BundledTask> canonical;
  Plan plan;  ///< Plan of the canonical task.
  StoragePrice storage;

  [[nodiscard]] WayOptions ways() const { return {.storage = storage}; }
  /// Cost of a plan of the listed task.
  [[nodiscard]] double ms_of(const Plan& listed, const PlanCost& cost) const {
    return cost.slowest_ms() + storage.ms(std::ranges::max(stored_bytes(storage, task, listed)));
  }
};

std::optional<Case> case_of(std::uint64_t seed) {
  Case one;
  one.task = testing::random_task_of_all_kinds(seed);
  Random random(seed);
  if (seed % 4 == 1) testing::add_random_rules(one.task, random);
  if (seed % 4 == 2) testing::add_random_kinds(one.task, random);
  if (seed % 4 == 3) testing::add_random_groups(one.task, 2, random);
  if (seed % 5 == 0 && one.task.devices > 2) {
    one.task.devices_per_node = 2;
    one.task.links = NodeLinks{.in_node_gb_s = 200.0, .between_nodes_gb_s = 10.0};
  }
  if (seed % 3 != 0) {  // Ids alone are hidden, or all that can be is beside something.
    Random of_overlap(seed, 27);
    one.task.overlap.ids = true;
    if (seed % 3 == 2) {
      one.task.overlap = {.ids = of_overlap.below(2) == 0,
                          .dense_ms = of_overlap.uniform(),
                          .dense_beside_outputs_ms = 2.0 * of_overlap.uniform(),
                          .dense_beside_gradients_ms = 2.0 * of_overlap.uniform(),
                          .host_ms = 10.0 * of_overlap.uniform()};
    }
  }
  if (seed % 7 < 3) testing::add_host_memory(one.task, seed);
  if (seed % 3 == 1) {
    one.storage = {.ms_per_gib = 0.3,
                   .optimizer_state = seed % 2 == 0,
                   .touched_in_samples = seed % 5 < 2 ? 1e6 : 0.0};
  }
  if (one.task.devices < 2) return std::nullopt;
  const PlanResult planned = testing::planner_of(Effort::kFast).plan(one.task);
  if (!planned.plan) return std::nullopt;
  one.task = with_rules_of_groups(one.task);
  one.backend = make_cpu_backend(models_for(builtin_weights(), comm_setting(one.task)));
  one.canonical = std::make_unique<BundledTask>(canonical_task(one.task));
  one.plan = one.canonical->plan_of_task(*planned.plan);
  return one;
}

double simulated_ms(const Case& of, const PlanState& state) {
  const Plan plan = of.canonical->plan_of_listed(state.plan());
  return of.ms_of(plan, simulate(*of.backend, of.task, plan));
}

TEST(EditPrices, PriceAPlanAsTheSimulatorDoes) {
  int blocks = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(100))) {
    const std::optional<Case> one = case_of(seed);
    if (!one) continue;
    ShardCatalog catalog(*one->backend, *one->canonical, one->storage);
    const TableWays ways(catalog, *one->canonical, one->ways());
    PlanState state(catalog, ways, one->plan);
    StatePrices prices(state);
    prices.price_state();
    const Plan listed = one->canonical->plan_of_listed(one->plan);
    const double cost_ms = one->ms_of(listed, simulate(*one->backend, one->task, listed));
    EXPECT_NEAR(state.sums.cost_ms, cost_ms, kExact * cost_ms);
    EXPECT_EQ(state.sums.missing_bytes, 0);
    EXPECT_NEAR(simulated_ms(*one, state), cost_ms, kExact * cost_ms);
    blocks += has_row_blocks(one->canonical->task, one->plan) ? 1 : 0;
  }
  EXPECT_GT(blocks, 0);
}

TEST(EditPrices, CountWhatNodesLackThatShareHostMemory) {
  int lack = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(60))) {
    const std::optional<Case> one = case_of(seed);
    if (!one || one->task.host.bytes == 0) continue;
    Task task = one->task;
    task.host.of_node = true;
    task.host.ssd_bytes = 0;
    task.host.bytes = kMaxTaskBytes;
    for (Device& device : task.device_list) {
      device.host_bytes = device.ssd_bytes = 0;
      device.ssd_gb_s = 0.0;
    }
    const Plan listed = one->canonical->plan_of_listed(one->plan);
    std::vector<std::int64_t> in_hosts;
    for (const DeviceCost& device : simulate(*one->backend, task, listed).devices) {
      in_hosts.push_back(device.host_bytes);
    }
    // Little more than the plan takes.
    task.host.bytes = 1 + std::ranges::max(pooled_bytes(task, in_hosts)) / 10 * 12;
    BundledTask canonical = *one->canonical;
    canonical.task.host = task.host;
    canonical.task.device_list = task.device_list;
    ShardCatalog catalog(*one->backend, canonical);
    const TableWays ways(catalog, canonical, one->ways());
    PlanState state(catalog, ways, one->plan);
    if (state.tables().empty()) continue;
    StatePrices prices(state);
    prices.price_state();
    state.begin_undo();
    (void)testing::follow_edits(state, prices, seed, [&](const EditPrice* price) {
      const Plan plan = canonical.plan_of_listed(state.plan());
      if (price == nullptr || !plan.replicas.empty()) return;
      std::int64_t missing = 0;
      for (const DeviceCost& device : simulate(*one->backend, task, plan).devices) {
        missing += std::max<std::int64_t>(0, -device.free_bytes);
      }
      EXPECT_EQ(state.sums.missing_bytes, missing);
      EXPECT_EQ(price->missing_bytes, missing);
      lack += missing > 0 ? 1 : 0;
    });
  }
  EXPECT_GT(lack, 0);
}

TEST(EditPrices, FollowEditsAndTakeThemBack) {
  int rebuilt = 0;
  int moved = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(60))) {
    const std::optional<Case> one = case_of(seed);
    if (!one) continue;
    ShardCatalog catalog(*one->backend, *one->canonical, one->storage);
    const TableWays ways(catalog, *one->canonical, one->ways());
    PlanState state(catalog, ways, one->plan);
    if (state.tables().empty()) continue;
    StatePrices prices(state);
    prices.price_state();
    state.begin_undo();
    const PlanSums before = state.sums;
    const Plan plan_before = state.plan();
    moved += testing::follow_edits(state, prices, seed, [&](const EditPrice* price) {
      const double simulated = simulated_ms(*one, state);
      if (price == nullptr) {
        ++rebuilt;
        ASSERT_NEAR(state.sums.cost_ms, simulated, kExact * simulated);
      } else {
        ASSERT_NEAR(price->cost_ms, simulated,
                    (one->task.devices <= 16 ? kExact : kEstimated) * simulated);
      }
    });
    const Plan changed = one->canonical->plan_of_listed(state.plan());
    PlanCost cost = simulate(*one->backend, one->task, changed);
    EXPECT_EQ(cost.fits_memory, state.sums.missing_bytes == 0);
    if (cost.fits_memory) testing::expect_recounts(one->task, changed, cost);
    prices.undo(before);
    prices.price_state();
    EXPECT_NEAR(state.sums.cost_ms, before.cost_ms, kExact * before.cost_ms);
    EXPECT_EQ(state.plan().replicas, plan_before.replicas);
    EXPECT_NEAR(simulated_ms(*one, state), before.cost_ms, kExact * before.cost_ms);
  }
  EXPECT_GT(rebuilt, 0);
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace neuroshard
