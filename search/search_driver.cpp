#include "search/search_driver.h"

#include <chrono>
#include <utility>

#include "core/parallel_session.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"

namespace neuroshard {
namespace {

// Pieces whose embeddings and costs a GPU computes. One core takes about 0.15 ms for so many (a
// task has some 150); the GPU, two launches and two waits. Not yet measured on a GPU.
constexpr std::size_t kLeastPiecesForGpu = 1024;

double now_ms() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since_start).count();
}

}  // namespace

const Backend& SearchDriver::backend() const {
  if (gpu_ != nullptr) return *gpu_;
  return cpu_;
}

SearchDriver::Run::Run(const CpuBackend& cpu, const Task& run_task, const SearchOptions& options,
                       PlanResult& run_result, double started, PiecePool pool)
    : task(run_task),
      result(run_result),
      started_ms(started),
      search(cpu, run_task, options, std::move(pool)) {}

std::vector<PiecePool> SearchDriver::piece_pools(std::span<const Task> tasks) {
  std::vector<PiecePool> pools;
  std::vector<PiecePool*> all;
  pools.reserve(tasks.size());
  std::size_t pieces = 0;
  for (const Task& task : tasks) {
    all.push_back(&pools.emplace_back(task));
    pieces += pools.back().size();
  }
  if (gpu_ != nullptr && pieces >= kLeastPiecesForGpu) {
    try {
      PiecePool::embed(*gpu_, all);
      return pools;
    } catch (const Error& error) {
      fall_back(error);
    }
  }
  for (PiecePool* pool : all) PiecePool::embed(cpu_, {&pool, 1});
  return pools;
}

void SearchDriver::add(std::span<const Task> tasks, std::span<PlanResult> results) {
  const double started_ms = now_ms();
  std::vector<PiecePool> pools = piece_pools(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Run& run = *runs_.emplace_back(std::make_unique<Run>(cpu_, tasks[i], options_, results[i],
                                                         started_ms, std::move(pools[i])));
    if (!run.search.running()) continue;
    try {
      start_session(run);
    } catch (const Error& error) {
      fall_back(error);
    }
  }
}

void SearchDriver::start_session(Run& run) {
  const PlacementProblem& problem = run.search.problem();
  if (gpu_ != nullptr) {
    run.session = gpu_->start(problem);
  } else if (lease_) {
    std::vector<std::unique_ptr<PlacementSession>> parts;
    parts.reserve(static_cast<std::size_t>(threads_));
    for (int part = 0; part < threads_; ++part) parts.push_back(cpu_.start(problem));
    run.session = std::make_unique<ParallelSession>(*std::exchange(lease_, std::nullopt),
                                                    std::move(parts), problem.dim_limits.size());
  } else {
    run.session = cpu_.start(problem);
  }
}

void SearchDriver::fall_back(const Error& error) {
  if (gpu_ == nullptr || !may_fall_back_ || error.kind() != ErrorKind::kBackend) throw;
  warning_ = std::string("the GPU failed (") + error.what() + "); went on with the CPU";
  gpu_ = nullptr;
  for (const auto& run : runs_) {
    if (run->search.running()) start_session(*run);
  }
}

void SearchDriver::evaluate() {
  requests_.clear();
  for (const auto& run : runs_) {
    if (!run->search.running()) continue;
    run->results.resize(run->search.candidates().size());
    requests_.push_back({run->session.get(), &run->search.candidates(), run->results});
  }
  backend().evaluate(requests_);
}

void SearchDriver::advance() {
  try {
    evaluate();
  } catch (const Error& error) {
    fall_back(error);
    evaluate();
  }
  for (const auto& run : runs_) {
    if (run->search.running()) run->search.take(run->results);
    if (!run->search.running()) finish(*run);
  }
  std::erase_if(runs_, [](const auto& run) { return !run->search.running(); });
}

void SearchDriver::finish(Run& run) {
  SearchStats& stats = run.result.stats;
  stats.backend = backend().name();
  stats.warning = warning_;
  stats.candidates = run.search.candidates_examined();
  if (run.session) {
    const EvaluationCounters counters = run.session->counters();
    stats.placements = counters.greedy_runs;
    stats.head_evaluations = counters.head_evaluations;
    stats.comm_evaluations = counters.comm_evaluations;
  }
  run.result.plan = std::move(run.search.plan());
  run.result.infeasible = std::move(run.search.infeasible());
  if (run.result.plan) run.result.cost = simulate(cpu_, run.task, *run.result.plan);
  stats.search_ms = now_ms() - run.started_ms;
}

}  // namespace neuroshard
