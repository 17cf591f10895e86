#include "bench/plans/quality.h"

#include <limits>

#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "neuroshard/error.h"
#include "neuroshard/plan.h"
#include "search/learned_placement.h"

namespace neuroshard::bench {
namespace {

void require_valid(const PlanResult& result, const Task& task, const std::string& where) {
  if (!result.plan) return;
  validate(*result.plan, task);
  if (result.cost.fits_memory) return;
  throw Error(where + ": the plan exceeds memory", ErrorKind::kBackend);
}

std::optional<double> cost_of(const PlanResult& result, const Task& task, const TaskPrice& price) {
  if (!result.plan) return std::nullopt;
  return price ? price(task, *result.plan) : result.cost.cost_ms;
}

/// The policy of `algorithm`; null if there is none.
std::shared_ptr<const PlacementPolicy> policy_of(const QualityRuns& quality, Algorithm algorithm) {
  for (const auto& policy : quality.policies) {
    if (algorithm_of(*policy) == name_of(algorithm)) return policy;
  }
  return nullptr;
}

AlgorithmRuns run_algorithm(const std::string& name, const CostModels& models, const TaskSet& set,
                            PlannerOptions options, const TaskPrice& price, int runs = 1) {
  AlgorithmRuns algorithm{.name = name, .cost_ms = {}, .search_ms = {}};
  algorithm.search_ms.assign(set.tasks.size(), 0.0);
  for (int run = 0; run < runs; ++run) {
    options.seed = static_cast<std::uint64_t>(run);
    const Planner planner(models, options);
    auto& costs = algorithm.cost_ms.emplace_back();
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      const Stopwatch watch;
      const PlanResult result = planner.plan(set.tasks[i]);
      *algorithm.search_ms[i] += watch.elapsed().wall_ms / runs;
      require_valid(result, set.tasks[i], set.name + " task " + std::to_string(i) + ": " + name);
      costs.push_back(cost_of(result, set.tasks[i], price));
    }
  }
  return algorithm;
}

AlgorithmRuns published_runs(const TaskSet& set) {
  AlgorithmRuns algorithm{.name = "published program", .cost_ms = {{}}, .search_ms = {}};
  for (const auto& run : set.published) {
    algorithm.cost_ms.front().push_back(run ? run->cost_ms : std::nullopt);
    algorithm.search_ms.push_back(run ? std::optional(run->seconds * 1e3) : std::nullopt);
  }
  return algorithm;
}

}  // namespace

std::vector<AlgorithmRuns> run_algorithms(const CostModels& models, const TaskSet& set,
                                          const QualityRuns& quality) {
  const PlannerOptions& options = quality.options;
  std::vector<AlgorithmRuns> all;
  PlannerOptions changed = options;
  changed.algorithm = Algorithm::kNeuroshard;
  all.push_back(run_algorithm("neuroshard", models, set, changed, quality.price));
  changed.effort = Effort::kFast;
  all.push_back(run_algorithm("neuroshard, fast", models, set, changed, quality.price));
  changed.algorithm = Algorithm::kPublished;
  changed.search.max_splits = 0;
  changed.search.memory_splits = false;
  all.push_back(run_algorithm("published, no column splits", models, set, changed, quality.price));
  changed.search = options.search;
  changed.search.grid_steps = 1;
  all.push_back(run_algorithm("published, no grid", models, set, changed, quality.price));
  for (const Algorithm algorithm : all_algorithms()) {
    if (algorithm == Algorithm::kNeuroshard) continue;
    changed = options;
    changed.algorithm = algorithm;
    changed.policy = policy_of(quality, algorithm);
    if (is_learned(algorithm) && !changed.policy) continue;
    all.push_back(run_algorithm(std::string(name_of(algorithm)), models, set, changed,
                                quality.price,
                                algorithm == Algorithm::kRandom ? quality.random_runs : 1));
  }
  if (set.has_published()) all.push_back(published_runs(set));
  return all;
}

QualityRow summarize(const AlgorithmRuns& algorithm, const AlgorithmRuns& reference) {
  const std::vector<std::optional<double>>& best = reference.cost_ms.front();
  std::vector<double> costs;
  std::vector<double> ratios;
  double tried = 0.0;
  std::vector<double> search_ms;
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (!algorithm.search_ms[i]) continue;
    search_ms.push_back(*algorithm.search_ms[i]);
    for (const auto& run : algorithm.cost_ms) {
      ++tried;
      if (!run[i]) continue;
      costs.push_back(*run[i]);
      if (best[i]) ratios.push_back(*run[i] / *best[i]);
    }
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {.name = algorithm.name,
          .success = tried > 0.0 ? static_cast<double>(costs.size()) / tried : kNone,
          .mean_cost_ms = costs.empty() ? kNone : mean(costs),
          .relative_cost = ratios.empty() ? kNone : geometric_mean(ratios),
          .mean_search_ms = search_ms.empty() ? kNone : mean(search_ms)};
}

}  // namespace neuroshard::bench
