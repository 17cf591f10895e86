#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_outcome.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/search_options.h"
#include "search/piece_catalog.h"
#include "search/task_search.h"

namespace neuroshard {

/// Runs searches on a backend, many in common launches if wanted. One per thread and call.
class SearchDriver {
 public:
  /// Borrows all but `warning`, which goes to the statistics of every search, unless the backend
  /// has one by then. `options.algorithm` is one that searches: kNeuroshard or kPublished.
  SearchDriver(const Backend& backend, const PlannerOptions& options, const PlanRequest& request,
               std::string warning = {});

  /// Where the outcome of a task goes. Borrows both until it is out.
  struct Job {
    const Task& task;  ///< Valid.
    PlanOutcome& outcome;
    const Plan* start = nullptr;  ///< SearchOrder's; not of the published search.
  };
  /// Starts searches; their embeddings are computed together.
  void add(std::span<const Job> jobs);
  [[nodiscard]] std::size_t in_flight() const { return runs_.size(); }
  /// One evaluation for every search in flight. Those that finish, or fail with an Error, write
  /// their outcome and leave.
  void advance();

 private:
  using Clock = std::chrono::steady_clock;

  struct Run {
    PlanOutcome& outcome;
    Clock::time_point started;
    std::unique_ptr<BundledTask> bundled{};   ///< Of a task with groups; borrowed by the search.
    std::unique_ptr<PieceCatalog> catalog{};  ///< Borrowed by the search, unless it has taken it.
    std::unique_ptr<TaskSearch> search{};
    const PlacementProblem* problem = nullptr;  ///< That of the session.
    std::unique_ptr<PlacementSession> session{};
    std::vector<CandidateResult> results{};
    std::vector<BeamOutcome> outcomes{};  ///< Of whole beam searches, in place of results.
    std::vector<std::optional<Annealed>> annealed{};  ///< Of chains, likewise.
    bool waits = false;   ///< With its chains, for those of other searches.
    PlanResult result{};  ///< Becomes the outcome.
    bool left = false;    ///< The outcome is out.

    [[nodiscard]] bool running() const { return !left && search->running(); }
    [[nodiscard]] bool has_chains() const { return !search->chains().empty(); }
    [[nodiscard]] bool places() const { return running() && !has_chains(); }
  };

  void add_published(std::span<const Job> jobs);
  void add_neuroshard(std::span<const Job> jobs);
  template <typename MakeSearch>
  void start(const Job& job, Clock::time_point started, const MakeSearch& make_search);
  /// Does what concerns one search alone: an Error of it becomes its outcome.
  template <typename Action>
  void attempt(Run& run, const Action& action);
  void leave(Run& run, PlanOutcome outcome);

  /// The session for what the search asks for now.
  void provide_session(Run& run);
  void end_session(Run& run);
  /// Those that can go to the backend whole.
  void search_beams();
  /// Of all others.
  void place_candidates();
  /// Chains of all searches together, once none of them has anything to place.
  void anneal_chains();
  void finish(Run& run);

  const Backend& backend_;
  const PlannerOptions& options_;
  const PlanRequest& request_;
  StopCondition stop_;
  std::string warning_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Backend::Request> requests_;
  std::vector<Backend::BeamRequest> beam_requests_;
  std::vector<Backend::AnnealingRequest> annealing_requests_;
};

}  // namespace neuroshard
