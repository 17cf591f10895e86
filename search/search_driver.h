#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan_outcome.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/search_options.h"
#include "search/piece_catalog.h"
#include "search/published_search.h"

namespace neuroshard {

/// Runs published searches on a backend, many in common launches if wanted. One per thread and
/// call.
class SearchDriver {
 public:
  /// Borrows all but `warning`, which goes to the statistics of every search, unless the backend
  /// has one by then.
  SearchDriver(const Backend& backend, const PlannerOptions& options, const PlanRequest& request,
               std::string warning = {});

  /// Where the outcome of a task goes. Borrows both until it is out.
  struct Job {
    const Task& task;  ///< Valid.
    PlanOutcome& outcome;
  };
  /// Starts searches; their embeddings are computed together.
  void add(std::span<const Job> jobs);
  [[nodiscard]] std::size_t in_flight() const { return runs_.size(); }
  /// One evaluation for every search in flight. Searches that finish, or fail with an Error, write
  /// their outcome and leave.
  void advance();

 private:
  using Clock = std::chrono::steady_clock;

  struct Run {
    PlanOutcome& outcome;
    Clock::time_point started;
    std::unique_ptr<BundledTask> bundled;  ///< The search borrows it, if the task has groups.
    PieceCatalog catalog;                  ///< Borrowed by the search.
    std::unique_ptr<PublishedSearch> search{};
    std::unique_ptr<PlacementSession> session{};  ///< There is one once the search has begun.
    std::vector<CandidateResult> results{};
    std::vector<BeamOutcome> outcomes{};  ///< Outcomes of whole beam searches, in place of results.
    PlanResult result{};                  ///< Becomes the outcome.
    bool left = false;                    ///< The outcome is out.

    [[nodiscard]] bool running() const { return !left && search->running(); }
  };

  void start_all(std::span<const Job> jobs);
  /// Does what concerns one search alone: an Error of it becomes its outcome.
  template <typename Action>
  void attempt(Run& run, const Action& action);
  void leave(Run& run, PlanOutcome outcome);

  /// Runs the searches that can go to the backend whole.
  void search_beams();
  /// All others.
  void place_candidates();
  void finish(Run& run);

  const Backend& backend_;
  const PlannerOptions& options_;
  StopCondition stop_;
  std::string warning_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Backend::Request> requests_;
  std::vector<Backend::BeamRequest> beam_requests_;
};

}  // namespace neuroshard
