#include "neuroshard/planner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/fallback_backend.h"
#include "core/team_backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/prediction_limits.h"
#include "neuroshard/simulator.h"
#include "neuroshard/training_ranges.h"
#include "search/backend_choice.h"
#include "search/baselines.h"
#include "search/infeasibility.h"
#include "search/replanning/replanning.h"
#include "search/row_blocks.h"
#include "search/search_driver.h"
#include "search/uniform_baseline.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;

// A level of the search has some fifty candidates; more threads than this find too little to do.
constexpr int kMaxThreadsOfOnePlan = 16;
// Searches that one thread keeps in common launches on a GPU, and how many of them it lets end
// before it starts as many together.
constexpr std::size_t kSearchesInFlight = 64;
constexpr std::size_t kSearchesStartedTogether = 16;

// As much as a plan can cost.
constexpr double kMostMsPerGib = 1e6;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void require_between(int value, int low, int high, const char* option) {
  if (value < low || value > high) {
    throw Error(std::string(option) + " is " + std::to_string(value) + "; give a number between " +
                std::to_string(low) + " and " + std::to_string(high));
  }
}

void validate(const PlannerOptions& options) {
  require_between(options.search.beam_width, 1, 1000, "beam width");
  require_between(options.search.candidates, 1, 100000, "candidates");
  require_between(options.search.max_splits, 0, 10000, "max splits");
  require_between(options.search.grid_steps, 1, 1000, "grid steps");
  require_between(options.threads, 0, 1024, "threads");
}

void require_equal_widths_possible(const PlannerOptions& options) {
  if (options.equal_widths && options.algorithm == Algorithm::kPublished) {
    throw Error(
        "the published search cuts slices of a table to widths of their own; ask for equal "
        "widths with algorithm 'neuroshard'");
  }
}

void validate(const PlanRequest& request) {
  require_between(request.alternatives, 0, 1000, "alternatives");
}

void validate(const ReplanRequest& request) {
  validate(request.plan);
  if (request.most_moved_bytes && *request.most_moved_bytes < 0) {
    throw Error("the move budget is negative; give a number of bytes, or leave it out");
  }
  if (!(request.ms_per_moved_gib >= 0.0 && request.ms_per_moved_gib <= kMostMsPerGib)) {
    throw Error("the price of a moved GiB is " + std::to_string(request.ms_per_moved_gib) +
                " ms; give between 0 and 1e6");
  }
}

bool searches(Algorithm algorithm) {
  return algorithm == Algorithm::kNeuroshard || algorithm == Algorithm::kPublished;
}

// "auto" takes a GPU if one works, and says in `warning` why one that is there does not; a forced
// "cuda" throws.
std::unique_ptr<Backend> gpu_backend(const CostModels& models, const std::string& name,
                                     std::string& warning) {
  if (name == kCudaBackend) return make_cuda_backend(models);
  if (name != "auto" || !cuda_backend_built() || cuda_devices().empty()) return nullptr;
  try {
    return make_cuda_backend(models);
  } catch (const Error& error) {
    warning = std::string("the GPU cannot be used (") + error.what() + "); planned on the CPU";
    return nullptr;
  }
}

PlanResult run_search(SearchDriver& driver, const Task& task) {
  PlanOutcome outcome;
  const SearchDriver::Job job{task, outcome};
  driver.add({&job, 1});
  while (driver.in_flight() > 0) driver.advance();
  return std::move(outcome).value();
}

// Both warnings, or the one that is not empty.
std::string joined(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "; " + other;
}

// What `impl`, the one of a planner, points to.
template <typename Impl>
const Impl& in_use(const std::unique_ptr<Impl>& impl) {
  if (!impl) throw Error("the planner has been moved from; use the one that it was moved to");
  return *impl;
}

}  // namespace

struct Planner::Impl {
  Impl(CostModels cost_models, PlannerOptions planner_options)
      : options(std::move(planner_options)),
        cpu(make_cpu_backend(cost_models,
                             {.name = options.backend == kCudaBackend ? "auto" : options.backend,
                              .reuse_work = options.reuse_work})),
        gpu(gpu_backend(cost_models, options.backend, no_gpu_warning)),
        ranges(cost_models),
        row_blocks(options.algorithm == Algorithm::kNeuroshard &&
                   options.cuts.value_or(default_cuts(cost_models)) == Cuts::kAny),
        models(std::move(cost_models)),
        threads(options.threads > 0
                    ? options.threads
                    : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

  void require_valid(const Task& task) const {
    neuroshard::validate(task);
    (void)models.comm_for(task.devices);
  }
  PlanResult plan_by_baseline(const Task& task) const;
  PlanResult plan_by_search(const Task& task, const PlanRequest& request,
                            const PlannerOptions& with) const;
  /// By one thread of the CPU.
  PlanResult plan_alone(const Task& task, const PlanRequest& request,
                        const PlannerOptions& with) const;
  /// Gives tasks that columns alone have no room for plans with row blocks. `plan`:
  /// plan_by_search() or plan_alone().
  template <typename Plan>
  PlanResult with_row_blocks(const Task& task, const PlanRequest& request, PlanResult result,
                             const Plan& plan) const;
  /// Does so for those outcomes that need it.
  void add_row_blocks(std::span<const Task> tasks, const PlanRequest& request,
                      std::span<PlanOutcome> outcomes) const;
  void plan_in_parallel(std::span<const SearchDriver::Job> jobs, const PlanRequest& request) const;
  ReplanResult replan(const Task& task, const RunningPlan& running,
                      const ReplanRequest& request) const;
  /// For the searches of one thread and call: others try the GPU anew if it fails these.
  FallbackBackend gpu_with_cpu() const { return {*gpu, *cpu, options.backend == "auto"}; }
  ThreadTeam& team() const;
  /// Adds what the models were not trained on, or do not look at, to the warning of `cost`.
  void add_warning(const Task& task, const Plan& plan, PlanCost& cost) const {
    cost.warning = joined(cost.warning, ranges.warning(task, plan, cost));
    cost.warning = joined(cost.warning, prediction_limits(task));
  }
  void add_warnings(const Task& task, PlanResult& result) const {
    if (result.plan) add_warning(task, *result.plan, result.cost);
    for (CostedPlan& other : result.alternatives) add_warning(task, other.plan, other.cost);
  }

  PlannerOptions options;
  std::unique_ptr<Backend> cpu;
  std::string no_gpu_warning;  ///< Before `gpu`, whose making writes it.
  std::unique_ptr<Backend> gpu;
  TrainingRanges ranges;  ///< Before `models`, which is moved from.
  bool row_blocks;        ///< Whether plans may have them.
  CostModels models;
  int threads;
  mutable std::once_flag team_started;
  mutable std::optional<ThreadTeam> team_of_plans;  ///< For single plans; the first one starts it.
};

ThreadTeam& Planner::Impl::team() const {
  std::call_once(team_started,
                 [&] { team_of_plans.emplace(std::min(threads, kMaxThreadsOfOnePlan)); });
  return *team_of_plans;
}

PlanResult Planner::Impl::plan_by_baseline(const Task& task) const {
  const Clock::time_point start = Clock::now();
  PlanResult result;
  result.stats.backend = cpu->name();
  result.plan = options.algorithm == Algorithm::kUniform
                    ? cheapest_uniform_plan(*cpu, task)
                    : place_by_baseline(task, options.algorithm, options.seed);
  if (result.plan) {
    result.cost = neuroshard::simulate(*cpu, task, *result.plan);
  } else {
    result.infeasible = baseline_failure(task, options.algorithm);
    result.cost.cost_ms = std::numeric_limits<double>::infinity();
  }
  result.stats.search_ms = milliseconds_since(start);
  return result;
}

PlanResult Planner::Impl::plan_by_search(const Task& task, const PlanRequest& request,
                                         const PlannerOptions& with) const {
  const auto search = [&](const Backend& backend, std::string warning, ThreadTeam::Lease* lease) {
    SearchDriver driver(backend, with, request, std::move(warning), lease);
    return run_search(driver, task);
  };
  if (gpu) return search(gpu_with_cpu(), no_gpu_warning, nullptr);
  if (threads == 1) return search(*cpu, no_gpu_warning, nullptr);
  const std::string warning = joined(no_gpu_warning, team().shortage());
  auto lease = team().try_lease();
  return lease ? search(TeamBackend(*cpu, *lease), warning, &*lease)
               : search(*cpu, warning, nullptr);
}

PlanResult Planner::Impl::plan_alone(const Task& task, const PlanRequest& request,
                                     const PlannerOptions& with) const {
  SearchDriver driver(*cpu, with, request);
  return run_search(driver, task);
}

template <typename Plan>
PlanResult Planner::Impl::with_row_blocks(const Task& task, const PlanRequest& request,
                                          PlanResult result, const Plan& plan) const {
  if (!row_blocks || !may_need_row_blocks(task, result)) return result;
  return plan_with_row_blocks(*cpu, task, request, options.effort, std::move(result),
                              [&](const Task& part, const PlanRequest& of_part,
                                  Effort effort) -> std::optional<PlanResult> {
                                if (!models.has_comm_for(part.devices)) return std::nullopt;
                                PlannerOptions with = options;
                                with.effort = effort;
                                return plan(part, of_part, with);
                              });
}

// A chain of edits has no batch for a GPU; only a new plan, if it comes to that, is made on it.
ReplanResult Planner::Impl::replan(const Task& task, const RunningPlan& running,
                                   const ReplanRequest& request) const {
  const Clock::time_point start = Clock::now();
  const StopCondition stop(request.plan.deadline, request.plan.stop);
  PlanRequest anew;
  anew.deadline = request.plan.deadline;
  anew.stop = request.plan.stop;
  const auto plan_anew = [&](Effort effort) {
    PlannerOptions with = options;
    with.effort = effort;
    return plan_by_search(task, anew, with);
  };
  PlanCost running_cost = neuroshard::simulate(*cpu, running.task, running.plan);
  std::optional<ThreadTeam::Lease> lease;
  if (threads > 1) lease = team().try_lease();
  ReplanResult result = replan_task(*cpu, {.task = task,
                                           .running = running,
                                           .request = request,
                                           .effort = options.effort,
                                           .stop = stop,
                                           .team = lease ? &*lease : nullptr,
                                           .plan_anew = plan_anew});
  result.running_cost = std::move(running_cost);
  add_warnings(task, result.result);
  result.result.stats.search_ms = milliseconds_since(start);
  return result;
}

// Each thread keeps a window of searches in flight: one on a CPU, enough to fill launches on a GPU.
void Planner::Impl::plan_in_parallel(std::span<const SearchDriver::Job> jobs,
                                     const PlanRequest& request) const {
  const std::size_t window = gpu ? kSearchesInFlight : 1;
  const std::size_t together = gpu ? kSearchesStartedTogether : 1;
  const std::size_t useful = std::max<std::size_t>(1, (jobs.size() + window - 1) / window);
  ThreadTeam team_of_batch(static_cast<int>(std::min(useful, static_cast<std::size_t>(threads))));
  const std::string warning = joined(no_gpu_warning, team_of_batch.shortage());
  std::atomic<std::size_t> next{0};
  const auto search = [&](const Backend& backend) {
    SearchDriver driver(backend, options, request, warning);
    try {
      for (;;) {
        while (driver.in_flight() + together <= window) {
          const std::size_t first = next.fetch_add(together);
          if (first >= jobs.size()) break;
          driver.add(jobs.subspan(first, std::min(together, jobs.size() - first)));
        }
        if (driver.in_flight() == 0) return;
        driver.advance();
      }
    } catch (...) {
      next = jobs.size();  // The others need not go on.
      throw;
    }
  };
  team_of_batch.run(team_of_batch.threads(),
                    [&](std::size_t, std::size_t) { gpu ? search(gpu_with_cpu()) : search(*cpu); });
}

void Planner::Impl::add_row_blocks(std::span<const Task> tasks, const PlanRequest& request,
                                   std::span<PlanOutcome> outcomes) const {
  std::vector<std::size_t> without_plan;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] && may_need_row_blocks(tasks[i], *outcomes[i])) without_plan.push_back(i);
  }
  if (without_plan.empty()) return;
  ThreadTeam team_of_batch(
      static_cast<int>(std::min(without_plan.size(), static_cast<std::size_t>(threads))));
  team_of_batch.run(without_plan.size(), [&](std::size_t job, std::size_t) {
    const std::size_t i = without_plan[job];
    try {
      outcomes[i] = with_row_blocks(tasks[i], request, std::move(outcomes[i]).value(),
                                    [&](const auto&... of_part) { return plan_alone(of_part...); });
    } catch (const Error& error) {
      outcomes[i] = error;
    }
  });
}

Planner::Planner(CostModels models, PlannerOptions options) {
  validate(options);
  require_equal_widths_possible(options);
  options.backend = chosen_backend(options.backend);
  impl_ = std::make_unique<Impl>(std::move(models), std::move(options));
}

Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

PlanResult Planner::plan(const Task& task, const PlanRequest& request) const {
  const Impl& impl = in_use(impl_);
  impl.require_valid(task);
  validate(request);
  if (!searches(impl.options.algorithm)) {
    PlanResult result = impl.plan_by_baseline(task);
    impl.add_warnings(task, result);
    return result;
  }
  PlanResult result =
      impl.with_row_blocks(task, request, impl.plan_by_search(task, request, impl.options),
                           [&](const auto&... of_part) { return impl.plan_by_search(of_part...); });
  impl.add_warnings(task, result);
  return result;
}

std::vector<PlanOutcome> Planner::plan_batch(std::span<const Task> tasks,
                                             const PlanRequest& request) const {
  const Impl& impl = in_use(impl_);
  validate(request);
  std::vector<PlanOutcome> outcomes(tasks.size());
  std::vector<SearchDriver::Job> jobs;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    try {
      impl.require_valid(tasks[i]);
      if (searches(impl.options.algorithm)) {
        jobs.push_back({tasks[i], outcomes[i]});
      } else {
        outcomes[i] = impl.plan_by_baseline(tasks[i]);
      }
    } catch (const Error& error) {
      outcomes[i] = error;
    }
  }
  if (!jobs.empty()) impl.plan_in_parallel(jobs, request);
  if (impl.row_blocks) impl.add_row_blocks(tasks, request, outcomes);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!outcomes[i]) continue;
    PlanResult result = std::move(outcomes[i]).value();
    impl.add_warnings(tasks[i], result);
    outcomes[i] = std::move(result);
  }
  return outcomes;
}

ReplanResult Planner::replan(const Task& task, const RunningPlan& running,
                             const ReplanRequest& request) const {
  const Impl& impl = in_use(impl_);
  impl.require_valid(task);
  validate(request);
  if (impl.options.algorithm != Algorithm::kNeuroshard) {
    throw Error("algorithm " + std::string(name_of(impl.options.algorithm)) +
                " does not re-plan; use neuroshard");
  }
  if (impl.options.equal_widths) {
    throw Error(
        "re-planning does not keep slices of a table to one width; plan anew, or re-plan "
        "with a planner without equal_widths");
  }
  return impl.replan(task, running, request);
}

PlanCost Planner::simulate(const Task& task, const Plan& plan) const {
  const Impl& impl = in_use(impl_);
  PlanCost cost = neuroshard::simulate(*impl.cpu, task, plan);
  impl.add_warning(task, plan, cost);
  return cost;
}

PlanExplanation Planner::explain(const Task& task, const Plan& plan) const {
  const Impl& impl = in_use(impl_);
  PlanExplanation explanation = neuroshard::explain(*impl.cpu, task, plan);
  impl.add_warning(task, plan, explanation.cost);
  return explanation;
}

std::uint64_t Planner::fingerprint(const Task& task) const {
  const Impl& impl = in_use(impl_);
  return neuroshard::fingerprint(task, impl.options, impl.models);
}

std::string_view Planner::backend() const {
  const Impl& impl = in_use(impl_);
  return impl.gpu ? impl.gpu->name() : impl.cpu->name();
}

}  // namespace neuroshard
