// What edits are said to cost, held against the cost of the plan that they lead to.
#include "search/improvement/edit_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "golden.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "numbers.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::cpu_backend_of;
using testing::golden_models;
using testing::kInfinity;
using testing::random_layout;
using testing::random_models;
using testing::random_task;
using testing::repetitions;

// Embeddings summed in another order.
constexpr double kRounding = 1e-5;

struct Agreement {
  std::uint64_t estimates = 0;
  double highest = 0.0;  ///< (estimate - exact) / exact, the largest.
  double lowest = 0.0;
  std::uint64_t affordable = 0;       ///< Edits whose exact cost is within the limit.
  std::uint64_t wrongly_refused = 0;  ///< Of these.
};

double relative(double a, double b) { return (a - b) / std::max(std::abs(b), 1.0); }

// Draws `steps` edits from `start`; prices each with a limit of (1 + slack) times the plan's cost,
// and takes one if it is within the limit. Each is priced with all costs up to date.
void walk(const CpuBackend& backend, const CatalogedTask& cataloged, const Layout& start, int steps,
          double slack, Agreement& agreement) {
  WorkingPlan plan(cataloged.catalog, cataloged.task.devices, start);
  EditCosts costs(backend, plan);
  EditSource source(plan, Halves::kJoined, 6, static_cast<std::uint64_t>(steps));
  AlignedVector<float> sums(2 * cataloged.catalog.embedding_width());
  for (int step = 0; step < steps; ++step) {
    const std::optional<PlanEdit> edit = source.draw(costs.critical());
    if (!edit) continue;
    const WorkingPlan::Outcome outcome = plan.outcome(*edit, sums.data());
    const double limit_ms = costs.cost_ms() + slack * std::abs(costs.cost_ms());
    const std::optional<double> estimate_ms = costs.estimate(*edit, outcome, sums.data(), limit_ms);
    WorkingPlan edited = plan;
    edited.apply(*edit);
    const double exact_ms =
        cost_of(backend, cataloged.catalog, cataloged.task, edited.layout()).cost_ms;
    const bool affordable = exact_ms <= limit_ms - kRounding * std::abs(limit_ms);
    agreement.affordable += affordable ? 1 : 0;
    if (estimate_ms) {
      ++agreement.estimates;
      const double error = relative(*estimate_ms, exact_ms);
      agreement.highest = std::max(agreement.highest, error);
      agreement.lowest = std::min(agreement.lowest, error);
    }
    if (affordable && (!estimate_ms || *estimate_ms > limit_ms)) {
      ++agreement.wrongly_refused;
    }
    if (!estimate_ms || *estimate_ms > limit_ms) continue;
    plan.apply(*edit);
    costs.accept(*edit);
    costs.synchronize();
    EXPECT_TRUE(costs.exact());
    ASSERT_LT(std::abs(relative(costs.cost_ms(), exact_ms)), kRounding);
  }
}

TEST(EditCosts, AreExactWithDenseModels) {
  for (const int devices : {2, 4, 8}) {
    SCOPED_TRACE(devices);
    const CpuBackend random_backend = cpu_backend_of(random_models(61, {.devices = {2, 4, 8}}));
    const CpuBackend golden_backend = cpu_backend_of(golden_models());
    std::mt19937_64 random(61);
    Agreement agreement;
    for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
      Task task = random_task(seed);
      task.devices = devices;
      for (const CpuBackend* backend : {&random_backend, &golden_backend}) {
        const CatalogedTask cataloged(*backend, task);
        walk(*backend, cataloged, random_layout(cataloged, 1.5, random), 50, kInfinity, agreement);
      }
    }
    EXPECT_GT(agreement.estimates, repetitions(20) * 20);
    EXPECT_LT(agreement.highest, kRounding);
    EXPECT_GT(agreement.lowest, -kRounding);
  }
}

TEST(EditCosts, AreExactWithASymmetricModelOfFewDevices) {
  // The last models see hardly any offset as it is.
  for (const CostModels& models : {builtin_weights(), random_models(63),
                                   testing::with_offsets_up_to(builtin_weights(), 0.01)}) {
    const CpuBackend backend = cpu_backend_of(models);
    std::mt19937_64 random(62);
    for (int devices = 2; devices <= 6; ++devices) {
      SCOPED_TRACE(devices);
      Agreement agreement;
      for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
        Task task = random_task(seed);
        task.devices = devices;
        const CatalogedTask cataloged(backend, task);
        walk(backend, cataloged, random_layout(cataloged, 1.5, random), 50, kInfinity, agreement);
      }
      EXPECT_LT(agreement.highest, 1e-4);
      EXPECT_GT(agreement.lowest, -1e-4);
    }
  }
}

CostModels models_on_nodes(CostModels models, int devices, int devices_per_node,
                           const NodeLinks& links) {
  set_known_network(models, KnownNetwork{8, 300.0, 25.0});
  return models_for(std::move(models),
                    {.devices = devices, .devices_per_node = devices_per_node, .links = links});
}

TEST(EditCosts, AreExactOnNodesOfFewDevices) {
  std::mt19937_64 random(64);
  for (const CostModels& models :
       {builtin_weights(), random_models(63), random_models(61, {.devices = {4, 6}})}) {
    for (const int devices : {4, 6}) {
      SCOPED_TRACE(devices);
      const CpuBackend backend = cpu_backend_of(
          models_on_nodes(models, devices, 2, {.between_nodes_gb_s = 20.0, .node_gb_s = 30.0}));
      Agreement agreement;
      for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
        Task task = random_task(seed);
        task.devices = devices;
        const CatalogedTask cataloged(backend, task);
        walk(backend, cataloged, random_layout(cataloged, 1.5, random), 50, kInfinity, agreement);
      }
      EXPECT_GT(agreement.estimates, repetitions(20) * 10);
      EXPECT_LT(agreement.highest, 1e-4);
      EXPECT_GT(agreement.lowest, -1e-4);
    }
  }
}

// Of more devices some costs are guessed; the guesses must serve an improvement.
TEST(EditCosts, SeldomRefuseWhatIsAffordableOnManyNodes) {
  std::mt19937_64 random(65);
  const CpuBackend backend =
      cpu_backend_of(models_on_nodes(builtin_weights(), 32, 8, {.node_gb_s = 25.0}));
  Agreement agreement;
  for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
    Task task = random_task(seed);
    task.devices = 32;
    const CatalogedTask cataloged(backend, task);
    walk(backend, cataloged, random_layout(cataloged, 3.0, random), 60, 0.003, agreement);
  }
  EXPECT_GT(agreement.affordable, repetitions(20));
  EXPECT_LT(agreement.wrongly_refused, agreement.affordable / 10 + 1);
  EXPECT_LT(agreement.highest, 0.02);
}

TEST(EditCosts, CountIdsExactly) {
  for (const std::vector<int>& dense : {std::vector<int>{4}, std::vector<int>{}}) {
    const CpuBackend backend =
        cpu_backend_of(random_models(65, {.devices = dense, .any_batch = true}));
    std::mt19937_64 random(65);
    Agreement agreement;
    for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
      Task task = random_task(seed);
      task.devices = 4;
      const CatalogedTask cataloged(backend, task);
      walk(backend, cataloged, random_layout(cataloged, 1.5, random), 50, kInfinity, agreement);
    }
    EXPECT_GT(agreement.estimates, repetitions(20) * 10);
    EXPECT_LT(agreement.highest, 1e-4);
    EXPECT_GT(agreement.lowest, -1e-4);
  }
}

TEST(EditCosts, SeldomRefuseWhatIsAffordableOnManyDevices) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  for (const int devices : {64, 128}) {
    SCOPED_TRACE(devices);
    std::mt19937_64 random(64);
    Agreement agreement;
    for (std::uint64_t seed = 0; seed < repetitions(20); ++seed) {
      Task task = random_task(seed);
      task.devices = devices;
      const CatalogedTask cataloged(backend, task);
      walk(backend, cataloged, random_layout(cataloged, 1.5, random), 100, 3e-3, agreement);
    }
    EXPECT_GT(agreement.affordable, repetitions(20) * 10);
    EXPECT_LT(agreement.wrongly_refused * 50, agreement.affordable)
        << agreement.wrongly_refused << " of " << agreement.affordable;
  }
}

}  // namespace
}  // namespace neuroshard
