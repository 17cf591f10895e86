// What edits are said to cost, held against the cost of the plan that they lead to.
#include "search/improvement/edit_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "golden.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::cpu_backend_of;
using testing::golden_models;
using testing::golden_task;
using testing::PooledTask;
using testing::random_layout;
using testing::random_models;
using testing::random_task;
using testing::repetitions;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Embeddings summed in another order.
constexpr double kRounding = 1e-5;

struct Agreement {
  std::uint64_t estimates = 0;
  double highest = 0.0;  ///< (estimate - exact) / exact, the largest.
  double lowest = 0.0;
  std::uint64_t affordable = 0;       ///< Edits whose exact cost is within the limit.
  std::uint64_t wrongly_refused = 0;  ///< Of these.
};

double relative(double a, double b) { return (a - b) / std::max(std::abs(b), 1e-3); }

// Draws `steps` edits from `start`; prices each with a limit of (1 + slack) times the plan's cost,
// and takes one if it is within the limit. Each is priced with all costs up to date.
void walk(const CpuBackend& backend, const PooledTask& pooled, const Layout& start, int steps,
          double slack, Agreement& agreement) {
  WorkingPlan plan(pooled.pool, pooled.task.devices, start);
  EditCosts costs(backend, plan);
  EditSource source(plan, 6, static_cast<std::uint64_t>(steps));
  AlignedVector<float> sums(2 * pooled.pool.embedding_width());
  for (int step = 0; step < steps; ++step) {
    const std::optional<PlanEdit> edit = source.draw(costs.critical());
    if (!edit) continue;
    const WorkingPlan::Outcome outcome = plan.outcome(*edit, sums.data());
    const double limit_ms = costs.cost_ms() + slack * std::abs(costs.cost_ms());
    const std::optional<double> estimate_ms =
        costs.estimate(*edit, outcome, sums.data(), limit_ms);
    WorkingPlan edited = plan;
    edited.apply(*edit);
    const double exact_ms = cost_of(backend, pooled.pool, pooled.task, edited.layout()).cost_ms;
    const bool affordable = exact_ms <= limit_ms;
    agreement.affordable += affordable ? 1 : 0;
    if (estimate_ms) {
      ++agreement.estimates;
      const double error = relative(*estimate_ms, exact_ms);
      agreement.highest = std::max(agreement.highest, error);
      agreement.lowest = std::min(agreement.lowest, error);
    }
    if (affordable && (!estimate_ms || *estimate_ms > limit_ms + kRounding * std::abs(limit_ms))) {
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
        const PooledTask pooled(*backend, task);
        walk(*backend, pooled, random_layout(pooled, 1.5, random), 50, kInfinity, agreement);
      }
    }
    EXPECT_GT(agreement.estimates, repetitions(20) * 20);
    EXPECT_LT(agreement.highest, kRounding);
    EXPECT_GT(agreement.lowest, -kRounding);
    printf("dense %d: %lu est, %g %g\n", devices, agreement.estimates, agreement.lowest, agreement.highest);
  }
}

TEST(EditCosts, XRefuse) {
  for (const char* set : {"2gpu_dim64", "4gpu_dim64", "8gpu_dim64","4gpu_dim128"}) {
    const CpuBackend backend = cpu_backend_of(golden_models());
    std::mt19937_64 random(62);
    for (double slack : {0.0, 1e-3, 3e-3, 0.01, 0.05}) {
    Agreement agreement;
    for (int i = 0; i < 3; ++i) {
      const PooledTask pooled(backend, golden_task(set, i));
      walk(backend, pooled, random_layout(pooled, 1.0, random), 400, slack, agreement);
    }
    printf("golden %s slack %g: est %lu aff %lu refused %lu; %g %g\n", set, slack, agreement.estimates, agreement.affordable, agreement.wrongly_refused, agreement.lowest, agreement.highest);
    }
  }
}

TEST(EditCosts, XSym) {
  for (int models = 0; models < 2; ++models) {
    const CpuBackend backend = cpu_backend_of(models ? builtin_weights() : random_models(63));
    std::mt19937_64 random(62);
    for (int devices : {2, 3, 4, 5, 6, 8, 16, 64}) {
    for (double slack : {0.0, 3e-3, 0.01, kInfinity}) {
    Agreement agreement;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Task task = random_task(seed);
      task.devices = devices;
      const PooledTask pooled(backend, task);
      walk(backend, pooled, random_layout(pooled, 1.5, random), 150, slack, agreement);
    }
    printf("%s %d slack %g: est %lu aff %lu refused %lu; %g %g\n", models ? "builtin" : "random", devices, slack, agreement.estimates, agreement.affordable, agreement.wrongly_refused, agreement.lowest, agreement.highest);
    }
    }
  }
}

}  // namespace
}  // namespace neuroshard
