#include "search/search_driver.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "search/canonical_task.h"
#include "search/neuroshard_search.h"
#include "search/published_search.h"

namespace neuroshard {
namespace {

// Chains that are worth a launch. By the estimates of docs/kernels.md a chain takes three to five
// times as long on a GPU as on a core, so that a plan by itself is improved by its threads. Not yet
// measured on a GPU.
constexpr std::size_t kLeastChainsForGpu = 16;

}  // namespace

SearchDriver::SearchDriver(const Backend& backend, const PlannerOptions& options,
                           const PlanRequest& request, std::string warning)
    : backend_(backend),
      options_(options),
      request_(request),
      stop_(request.deadline, request.stop),
      warning_(std::move(warning)) {}

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
  std::vector<std::unique_ptr<BundledTask>> bundled(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Task& task = jobs[i].task;
    if (task.groups.empty()) {
      catalogs.emplace_back(task, backend_.table_features(), std::span<const std::uint32_t>(),
                            std::span<const BundledTask::Bundle>(), stop_);
      continue;
    }
    bundled[i] = std::make_unique<BundledTask>(task, stop_);
    catalogs.emplace_back(bundled[i]->task, backend_.table_features(), bundled[i]->original,
                          bundled[i]->bundles, stop_);
  }
  PieceCatalog::embed(backend_, catalogs, stop_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    start(jobs[i], started, [&](Run& run) {
      if (stop_.reached()) {  // The catalog may be empty.
        run.result.complete = false;
        run.result.cost.cost_ms = std::numeric_limits<double>::infinity();
        return leave(run, std::move(run.result));
      }
      catalogs[i].require_costs();
      run.catalog = std::make_unique<PieceCatalog>(std::move(catalogs[i]));
      run.bundled = std::move(bundled[i]);
      run.search =
          std::make_unique<PublishedSearch>(backend_, jobs[i].task, options_.search, *run.catalog,
                                            stop_.possible() ? &stop_ : nullptr, run.bundled.get());
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
    const CanonicalTask& one = canonical.emplace_back(job.task, stop_);
    catalogs.emplace_back(one.task, backend_.table_features(), one.original, one.bundles, stop_);
  }
  // A search that is stopped here sees that itself, before it uses the catalog.
  PieceCatalog::embed(backend_, catalogs, stop_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    start(jobs[i], started, [&](Run& run) {
      catalogs[i].require_costs();
      const SearchOrder order{.equal_widths = options_.equal_widths,
                              .published = options_.search,
                              .request = request_,
                              .stop = stop_,
                              .start = jobs[i].start};
      run.search = std::make_unique<NeuroshardSearch>(
          backend_, jobs[i].task, std::move(canonical[i]), std::move(catalogs[i]), order, started);
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
  const PlacementProblem& problem = run.search->problem();
  if (run.problem == &problem || run.has_chains()) return;
  end_session(run);
  run.session = backend_.start(problem);
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

void SearchDriver::search_beams() {
  beam_requests_.clear();
  for (const auto& run : runs_) {
    run->outcomes.clear();
    if (!run->places()) continue;
    const std::span<const BeamProblem> beams = run->search->beams();
    if (!std::all_of(beams.begin(), beams.end(),
                     [&](const BeamProblem& beam) { return run->session->can_search(beam); })) {
      continue;
    }
    run->outcomes.resize(beams.size());
    for (std::size_t i = 0; i < beams.size(); ++i) {
      beam_requests_.push_back({run->session.get(), &beams[i], &run->outcomes[i]});
    }
  }
  if (beam_requests_.empty() || backend_.search_beams(beam_requests_)) return;
  for (const auto& run : runs_) run->outcomes.clear();
}

void SearchDriver::place_candidates() {
  requests_.clear();
  for (const auto& run : runs_) {
    if (!run->places() || !run->outcomes.empty()) continue;
    const CandidateBatch& candidates = run->search->candidates();
    run->results.resize(candidates.size());
    requests_.push_back({run->session.get(), &candidates, run->results});
  }
  if (!requests_.empty()) backend_.place(requests_);
}

void SearchDriver::anneal_chains() {
  std::size_t chains = 0;
  bool any_places = false;
  for (const auto& run : runs_) {
    run->annealed.clear();
    run->waits = run->running() && run->has_chains();
    if (run->waits) chains += run->search->chains().size();
    any_places = any_places || run->places();
  }
  if (chains == 0 || any_places) return;
  annealing_requests_.clear();
  for (const auto& run : runs_) {
    if (!run->waits) continue;
    run->waits = false;
    const std::span<const AnnealingChain> of_run = run->search->chains();
    run->annealed.resize(of_run.size());
    for (std::size_t i = 0; i < of_run.size(); ++i) {
      annealing_requests_.push_back(
          {run->search->annealing_problem(), &of_run[i], &run->annealed[i]});
    }
  }
  if (chains >= kLeastChainsForGpu) backend_.anneal(annealing_requests_);
}

void SearchDriver::advance() {
  try {
    search_beams();
    place_candidates();
    anneal_chains();
  } catch (const Error& error) {
    for (const auto& run : runs_) {
      if (!run->left) leave(*run, error);
    }
  }
  for (const auto& run : runs_) {
    if (run->left || run->waits) continue;
    attempt(*run, [&] {
      if (!run->annealed.empty()) {
        run->search->take_chains(run->annealed);
      } else if (!run->outcomes.empty()) {
        run->search->take_beams(run->outcomes, *run->session);
      } else if (run->running()) {
        run->search->take(run->results, *run->session);
      }
      run->running() ? provide_session(*run) : finish(*run);
    });
  }
  std::erase_if(runs_, [](const auto& run) { return run->left; });
}

void SearchDriver::finish(Run& run) {
  end_session(run);
  run.search->finish(run.result);
  SearchStats& stats = run.result.stats;
  stats.backend = backend_.name();
  stats.warning = backend_.warning();
  if (stats.warning.empty()) stats.warning = warning_;
  if (!run.result.plan) run.result.cost.cost_ms = std::numeric_limits<double>::infinity();
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - run.started;
  stats.search_ms = elapsed.count();
  leave(run, std::move(run.result));
}

}  // namespace neuroshard
