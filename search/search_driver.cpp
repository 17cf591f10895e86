#include "search/search_driver.h"

#include <limits>
#include <utility>

#include "core/parallel_session.h"
#include "search/canonical_task.h"
#include "search/neuroshard_search.h"
#include "search/published_search.h"

namespace neuroshard {
namespace {

// From so many pieces on, a GPU computes their embeddings and costs. One core would take about
// 0.15 ms (a task has some 150 pieces), the GPU two launches and two waits. Not yet measured on a
// GPU.
constexpr std::size_t kLeastPiecesForGpu = 1024;

}  // namespace

SearchDriver::SearchDriver(SearchMachine machine, const PlannerOptions& options,
                           const PlanRequest& request)
    : machine_(std::move(machine)),
      options_(options),
      request_(request),
      stop_(request.deadline, request.stop) {}

const Backend& SearchDriver::backend() const {
  if (machine_.gpu != nullptr) return *machine_.gpu;
  return machine_.cpu;
}

void SearchDriver::embed(std::span<PieceCatalog> catalogs, const StopCondition& stop) {
  std::vector<PieceCatalog*> all;
  std::size_t pieces = 0;
  for (PieceCatalog& catalog : catalogs) {
    all.push_back(&catalog);
    pieces += catalog.size();
  }
  if (machine_.gpu != nullptr && pieces >= kLeastPiecesForGpu) {
    try {
      return PieceCatalog::embed(*machine_.gpu, all);
    } catch (const Error& error) {
      fall_back(error);
    }
  }
  for (PieceCatalog& catalog : catalogs) (void)catalog.embed(machine_.cpu, stop);
}

void SearchDriver::add(std::span<const Job> jobs) {
  try {
    if (options_.algorithm == Algorithm::kPublished) {
      add_published(jobs);
    } else {
      add_neuroshard(jobs);
    }
  } catch (const Error& error) {  // Of the backend: none has been started.
    for (const Job& job : jobs) job.outcome = error;
  }
}

void SearchDriver::add_published(std::span<const Job> jobs) {
  const Clock::time_point started = Clock::now();
  std::vector<PieceCatalog> catalogs;
  catalogs.reserve(jobs.size());
  for (const Job& job : jobs) catalogs.emplace_back(job.task);
  embed(catalogs, StopCondition());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    start(jobs[i], started, [&](Run& run) {
      catalogs[i].require_costs();
      run.catalog = std::make_unique<PieceCatalog>(std::move(catalogs[i]));
      run.search = std::make_unique<PublishedSearch>(machine_.cpu, jobs[i].task, options_.search,
                                                     *run.catalog);
    });
  }
}

void SearchDriver::add_neuroshard(std::span<const Job> jobs) {
  const Clock::time_point started = Clock::now();
  std::vector<CanonicalTask> canonical;
  std::vector<PieceCatalog> catalogs;
  canonical.reserve(jobs.size());
  catalogs.reserve(jobs.size());
  for (const Job& job : jobs) {
    const CanonicalTask& one = canonical.emplace_back(job.task);
    catalogs.emplace_back(one.task, one.original);
  }
  // A search that is stopped here sees that itself, before it uses the catalog.
  embed(catalogs, stop_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    start(jobs[i], started, [&](Run& run) {
      catalogs[i].require_costs();
      const SearchOrder order{.effort = options_.effort,
                              .published = options_.search,
                              .request = request_,
                              .stop = stop_,
                              .team = lease_ ? &*lease_ : nullptr};
      run.search =
          std::make_unique<NeuroshardSearch>(machine_.cpu, jobs[i].task, std::move(canonical[i]),
                                             std::move(catalogs[i]), order, started);
    });
  }
}

template <typename MakeSearch>
void SearchDriver::start(const Job& job, Clock::time_point started, const MakeSearch& make_search) {
  Run& run =
      *runs_.emplace_back(std::make_unique<Run>(Run{.outcome = job.outcome, .started = started}));
  attempt(run, [&] {
    make_search(run);
    if (run.running()) provide_session(run);
  });
}

template <typename Action>
void SearchDriver::attempt(Run& run, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    leave(run, error);
  }
}

void SearchDriver::leave(Run& run, PlanOutcome outcome) {
  run.outcome = std::move(outcome);
  run.session.reset();
  run.left = true;
}

void SearchDriver::provide_session(Run& run) {
  if (run.problem == &run.search->problem()) return;
  try {
    open_session(run);
  } catch (const Error& error) {
    fall_back(error);
  }
}

void SearchDriver::open_session(Run& run) {
  const PlacementProblem& problem = run.search->problem();
  end_session(run);
  if (machine_.gpu != nullptr) {
    run.session = machine_.gpu->start(problem);
  } else if (lease_) {
    std::vector<std::unique_ptr<PlacementSession>> parts;
    parts.reserve(static_cast<std::size_t>(threads_));
    for (int part = 0; part < threads_; ++part) parts.push_back(machine_.cpu.start(problem));
    run.session =
        std::make_unique<ParallelSession>(*lease_, std::move(parts), problem.dim_limits.size());
  } else {
    run.session = machine_.cpu.start(problem);
  }
  run.problem = &problem;
}

void SearchDriver::end_session(Run& run) {
  if (!run.session) return;
  const PlacementCounters counters = run.session->counters();
  run.result.stats.placements += counters.greedy_runs;
  run.result.stats.head_evaluations += counters.head_evaluations;
  run.result.stats.comm_evaluations += counters.comm_evaluations;
  run.session.reset();
  run.problem = nullptr;
}

void SearchDriver::fall_back(const Error& error) {
  if (machine_.gpu == nullptr || !machine_.may_fall_back || error.kind() != ErrorKind::kBackend) {
    throw;
  }
  machine_.warning = std::string("the GPU failed (") + error.what() + "); went on with the CPU";
  machine_.gpu = nullptr;
  for (const auto& run : runs_) {
    if (run->left) continue;
    run->running() ? open_session(*run) : end_session(*run);
  }
}

void SearchDriver::place_candidates() {
  requests_.clear();
  for (const auto& run : runs_) {
    if (!run->running()) continue;
    const CandidateBatch& candidates = run->search->candidates();
    run->results.resize(candidates.size());
    requests_.push_back({run->session.get(), &candidates, run->results});
  }
  backend().place(requests_);
}

void SearchDriver::advance() {
  try {
    try {
      place_candidates();
    } catch (const Error& error) {
      fall_back(error);
      place_candidates();
    }
  } catch (const Error& error) {
    for (const auto& run : runs_) {
      if (!run->left) leave(*run, error);
    }
  }
  for (const auto& run : runs_) {
    if (run->left) continue;
    attempt(*run, [&] {
      if (run->running()) run->search->take(run->results);
      run->running() ? provide_session(*run) : finish(*run);
    });
  }
  std::erase_if(runs_, [](const auto& run) { return run->left; });
}

void SearchDriver::finish(Run& run) {
  end_session(run);
  SearchStats& stats = run.result.stats;
  stats.backend = backend().name();
  stats.warning = machine_.warning;
  run.search->finish(run.result);
  if (!run.result.plan) run.result.cost.cost_ms = std::numeric_limits<double>::infinity();
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - run.started;
  stats.search_ms = elapsed.count();
  leave(run, std::move(run.result));
}

}  // namespace neuroshard
