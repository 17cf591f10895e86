#include "search/search_driver.h"

#include <algorithm>
#include <utility>

namespace neuroshard {
SearchDriver::SearchDriver(const Backend& backend, const PlannerOptions& options,
                           const PlanRequest& request, std::string warning)
    : backend_(backend),
      options_(options),
      stop_(request.deadline, request.stop),
      warning_(std::move(warning)) {}

void SearchDriver::add(std::span<const Job> jobs) {
  try {
    start_all(jobs);
  } catch (const Error& error) {  // Thrown by the backend: no search has been started.
    for (const Job& job : jobs) job.outcome = error;
  }
}

void SearchDriver::start_all(std::span<const Job> jobs) {
  const Clock::time_point started = Clock::now();
  std::vector<PieceCatalog> catalogs;
  catalogs.reserve(jobs.size());
  std::vector<std::unique_ptr<BundledTask>> bundled(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Task& task = jobs[i].task;
    if (!task.groups.empty()) bundled[i] = std::make_unique<BundledTask>(task);
    catalogs.emplace_back(bundled[i] ? bundled[i]->task : task, backend_.table_features(),
                          bundled[i].get(), stop_);
  }
  PieceCatalog::embed(backend_, catalogs, stop_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Run& run = *runs_.emplace_back(std::make_unique<Run>(Run{.outcome = jobs[i].outcome,
                                                             .started = started,
                                                             .bundled = std::move(bundled[i]),
                                                             .catalog = std::move(catalogs[i])}));
    attempt(run, [&] {
      if (stop_.reached()) {  // The catalog may be empty.
        run.result.complete = false;
        run.result.stats.backend = backend_.name();
        return leave(run, std::move(run.result));
      }
      run.catalog.require_costs();
      run.search =
          std::make_unique<PublishedSearch>(backend_, jobs[i].task, options_.search, run.catalog,
                                            stop_.possible() ? &stop_ : nullptr, run.bundled.get());
      if (run.running()) run.session = backend_.start(run.search->problem());
    });
  }
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

void SearchDriver::search_beams() {
  beam_requests_.clear();
  for (const auto& run : runs_) {
    run->outcomes.clear();
    if (!run->running()) continue;
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
    if (!run->running() || !run->outcomes.empty()) continue;
    const CandidateBatch& candidates = run->search->candidates();
    run->results.resize(candidates.size());
    requests_.push_back({run->session.get(), &candidates, run->results});
  }
  if (!requests_.empty()) backend_.place(requests_);
}

void SearchDriver::advance() {
  try {
    search_beams();
    place_candidates();
  } catch (const Error& error) {
    for (const auto& run : runs_) {
      if (!run->left) leave(*run, error);
    }
  }
  for (const auto& run : runs_) {
    if (run->left) continue;
    attempt(*run, [&] {
      if (!run->outcomes.empty()) {
        run->search->take_beams(run->outcomes, *run->session);
      } else if (run->running()) {
        run->search->take(run->results, *run->session);
      }
      if (!run->running()) finish(*run);
    });
  }
  std::erase_if(runs_, [](const auto& run) { return run->left; });
}

void SearchDriver::finish(Run& run) {
  SearchStats& stats = run.result.stats;
  if (run.session) {
    const PlacementCounters counters = run.session->counters();
    stats.placements = counters.greedy_runs;
    stats.head_evaluations = counters.head_evaluations;
    stats.comm_evaluations = counters.comm_evaluations;
    run.session.reset();
  }
  run.search->finish(run.result);
  stats.backend = backend_.name();
  stats.warning = backend_.warning();
  if (stats.warning.empty()) stats.warning = warning_;
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - run.started;
  stats.search_ms = elapsed.count();
  leave(run, std::move(run.result));
}

}  // namespace neuroshard
