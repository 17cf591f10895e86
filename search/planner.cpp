#include "neuroshard/planner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/cpu_backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "search/baselines.h"
#include "search/memory_splits.h"
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

// "auto" takes a GPU if one works, and says in `warning` why one that is there does not; a forced
// "cuda" throws.
std::unique_ptr<Backend> gpu_backend(const CostModels& models, const std::string& name,
                                     std::string& warning) {
  if (name == "cuda") return make_cuda_backend(models);
  if (name != "auto" || !cuda_backend_built() || cuda_devices().empty()) return nullptr;
  try {
    return make_cuda_backend(models);
  } catch (const Error& error) {
    warning = std::string("the GPU cannot be used (") + error.what() + "); planned on the CPU";
    return nullptr;
  }
}

}  // namespace

struct Planner::Impl {
  Impl(CostModels cost_models, PlannerOptions planner_options)
      : options(std::move(planner_options)),
        cpu(select_cpu_kernels(options.backend == "cuda" ? "auto" : options.backend), cost_models,
            options.reuse_work),
        gpu(gpu_backend(cost_models, options.backend, no_gpu_warning)),
        models(std::move(cost_models)),
        threads(options.threads > 0
                    ? options.threads
                    : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

  void require_valid(const Task& task) const {
    neuroshard::validate(task);
    (void)models.comm_for(task.devices);
  }
  PlanResult plan_by_baseline(const Task& task) const;
  PlanResult plan_by_search(const Task& task) const;
  void plan_in_parallel(std::span<const Task> tasks, std::span<PlanResult> results) const;
  WorkerPool& workers() const;

  PlannerOptions options;
  CpuBackend cpu;
  std::string no_gpu_warning;  ///< Before `gpu`, whose making writes it.
  std::unique_ptr<Backend> gpu;
  CostModels models;
  int threads;
  mutable std::once_flag pool_started;
  mutable std::optional<WorkerPool> pool;  ///< For single plans; started by the first one.
};

WorkerPool& Planner::Impl::workers() const {
  std::call_once(pool_started, [&] { pool.emplace(std::min(threads, kMaxThreadsOfOnePlan)); });
  return *pool;
}

PlanResult Planner::Impl::plan_by_baseline(const Task& task) const {
  const Clock::time_point start = Clock::now();
  PlanResult result;
  result.stats.backend = cpu.name();
  result.plan = options.algorithm == Algorithm::kUniform
                    ? cheapest_uniform_plan(cpu, task)
                    : place_by_baseline(task, options.algorithm, options.seed);
  if (result.plan) {
    result.cost = neuroshard::simulate(cpu, task, *result.plan);
  } else {
    result.infeasible = baseline_failure(task, options.algorithm);
  }
  result.stats.search_ms = milliseconds_since(start);
  return result;
}

PlanResult Planner::Impl::plan_by_search(const Task& task) const {
  PlanResult result;
  SearchDriver driver(gpu.get(), options.backend == "auto", cpu, options.search, no_gpu_warning);
  if (!gpu && threads > 1) {
    WorkerPool& pool_of_workers = workers();
    if (auto lease = pool_of_workers.try_lease()) {
      driver.use_threads(std::move(*lease), pool_of_workers.threads());
    }
  }
  driver.add(task, result);
  while (driver.in_flight() > 0) driver.advance();
  return result;
}

// Each thread keeps a window of searches in flight: one on a CPU, enough to fill launches on a GPU.
void Planner::Impl::plan_in_parallel(std::span<const Task> tasks,
                                     std::span<PlanResult> results) const {
  const std::size_t window = gpu ? kSearchesInFlight : 1;
  const std::size_t together = gpu ? kSearchesStartedTogether : 1;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      SearchDriver driver(gpu.get(), options.backend == "auto", cpu, options.search,
                          no_gpu_warning);
      for (;;) {
        while (driver.in_flight() + together <= window) {
          const std::size_t first = next.fetch_add(together);
          if (first >= tasks.size()) break;
          const std::size_t count = std::min(together, tasks.size() - first);
          driver.add(tasks.subspan(first, count), results.subspan(first, count));
        }
        if (driver.in_flight() == 0) return;
        driver.advance();
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      next = tasks.size();
    }
  };
  const std::size_t useful = (tasks.size() + window - 1) / window;
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(useful, static_cast<std::size_t>(threads)); ++t) {
      others.emplace_back(work);
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

Planner::Planner(CostModels models, PlannerOptions options) {
  neuroshard::validate(models);
  validate(options);
  impl_ = std::make_unique<Impl>(std::move(models), std::move(options));
}

Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

PlanResult Planner::plan(const Task& task) const {
  impl_->require_valid(task);
  return impl_->options.algorithm == Algorithm::kNeuroshard ? impl_->plan_by_search(task)
                                                            : impl_->plan_by_baseline(task);
}

std::vector<PlanResult> Planner::plan_batch(std::span<const Task> tasks) const {
  for (const Task& task : tasks) impl_->require_valid(task);
  std::vector<PlanResult> results(tasks.size());
  if (impl_->options.algorithm == Algorithm::kNeuroshard) {
    impl_->plan_in_parallel(tasks, results);
  } else {
    std::ranges::transform(tasks, results.begin(),
                           [&](const Task& task) { return impl_->plan_by_baseline(task); });
  }
  return results;
}

PlanCost Planner::simulate(const Task& task, const Plan& plan) const {
  return neuroshard::simulate(impl_->cpu, task, plan);
}

std::string_view Planner::backend() const {
  return impl_->gpu ? impl_->gpu->name() : impl_->cpu.name();
}

}  // namespace neuroshard
