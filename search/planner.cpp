#include "neuroshard/planner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/cpu_backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "search/baselines.h"
#include "search/memory_splits.h"
#include "search/task_search.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;

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

// "auto" takes a GPU if one works; a forced "cuda" says why it does not.
std::unique_ptr<Backend> gpu_backend(const CostModels& models, const std::string& name) {
  if (name == "cuda") return make_cuda_backend(models);
  if (name != "auto" || !cuda_backend_built() || cuda_devices().empty()) return nullptr;
  try {
    return make_cuda_backend(models);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

struct Planner::Impl {
  Impl(CostModels cost_models, PlannerOptions planner_options)
      : options(std::move(planner_options)),
        cpu(select_cpu_kernels(options.backend == "cuda" ? "auto" : options.backend), cost_models,
            options.reuse_work),
        gpu(gpu_backend(cost_models, options.backend)),
        models(std::move(cost_models)) {}

  PlanResult plan(const Task& task) const;
  PlanResult plan_by_search(const Task& task, const Backend& backend) const;
  PlanResult plan_by_baseline(const Task& task) const;
  void require_valid(const Task& task) const;

  [[nodiscard]] const Backend& preferred() const {
    if (gpu) return *gpu;
    return cpu;
  }

  PlannerOptions options;
  CpuBackend cpu;
  std::unique_ptr<Backend> gpu;
  CostModels models;
};

void Planner::Impl::require_valid(const Task& task) const {
  neuroshard::validate(task);
  (void)models.comm_for(task.devices);
}

PlanResult Planner::Impl::plan_by_search(const Task& task, const Backend& backend) const {
  PlanResult result;
  result.stats.backend = backend.name();
  TaskSearch search(backend, cpu, task, options.search);
  std::unique_ptr<PlacementSession> session;
  if (search.running()) session = backend.start(search.problem());
  std::vector<CandidateResult> results;
  while (search.running()) {
    results.resize(search.candidates().size());
    session->evaluate(search.candidates(), results);
    search.take(results);
  }
  if (session) {
    const EvaluationCounters counters = session->counters();
    result.stats.placements = counters.greedy_runs;
    result.stats.head_evaluations = counters.head_evaluations;
    result.stats.comm_evaluations = counters.comm_evaluations;
  }
  result.stats.candidates = search.candidates_examined();
  result.plan = std::move(search.plan());
  result.infeasible = std::move(search.infeasible());
  return result;
}

PlanResult Planner::Impl::plan_by_baseline(const Task& task) const {
  PlanResult result;
  result.stats.backend = cpu.name();
  result.plan = place_by_baseline(task, options.algorithm, options.seed);
  if (!result.plan) result.infeasible = baseline_failure(task, name_of(options.algorithm));
  return result;
}

PlanResult Planner::Impl::plan(const Task& task) const {
  require_valid(task);
  const Clock::time_point start = Clock::now();
  PlanResult result;
  if (options.algorithm != Algorithm::kNeuroshard) {
    result = plan_by_baseline(task);
  } else if (!gpu) {
    result = plan_by_search(task, cpu);
  } else {
    try {
      result = plan_by_search(task, *gpu);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBackend) throw;
      // Same arithmetic, same plan: nothing is lost but time.
      result = plan_by_search(task, cpu);
      result.stats.warning =
          std::string("the GPU failed (") + error.what() + "); planned on the CPU instead";
    }
  }
  if (result.plan) result.cost = neuroshard::simulate(cpu, task, *result.plan);
  result.stats.search_ms = milliseconds_since(start);
  return result;
}

Planner::Planner(CostModels models, PlannerOptions options) {
  neuroshard::validate(models);
  validate(options);
  impl_ = std::make_unique<Impl>(std::move(models), std::move(options));
}

Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

PlanResult Planner::plan(const Task& task) const { return impl_->plan(task); }

std::vector<PlanResult> Planner::plan_batch(std::span<const Task> tasks) const {
  std::vector<PlanResult> results(tasks.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      try {
        results[i] = impl_->plan(tasks[i]);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        next = tasks.size();
      }
    }
  };
  const std::size_t threads = std::min<std::size_t>(
      tasks.size(), impl_->options.threads > 0 ? static_cast<std::size_t>(impl_->options.threads)
                                               : std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> pool;
  for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  pool.clear();
  if (failure) std::rethrow_exception(failure);
  return results;
}

PlanCost Planner::simulate(const Task& task, const Plan& plan) const {
  return neuroshard::simulate(impl_->cpu, task, plan);
}

std::string_view Planner::backend() const { return impl_->preferred().name(); }

}  // namespace neuroshard
