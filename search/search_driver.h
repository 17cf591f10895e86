#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cpu_backend.h"
#include "core/thread_team.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_outcome.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/search_options.h"
#include "search/piece_catalog.h"
#include "search/task_search.h"

namespace neuroshard {

/// Where searches run. Borrows everything.
struct SearchMachine {
  const CpuBackend& cpu;
  const Backend* gpu = nullptr;  ///< May be null.
  /// Whether a failure of the GPU is survived, or thrown to the caller, who asked for that backend
  /// and no other.
  bool may_fall_back = true;
  /// Goes to the statistics of every search; a later one takes its place.
  std::string warning{};
};

/// Runs searches on a backend, many in common launches if wanted. If a GPU fails half-way, goes on
/// where it was on the CPU: the arithmetic is the same, so the plans are. One per thread and call.
class SearchDriver {
 public:
  /// Borrows `options` and `request`. `options.algorithm` is one that searches: kNeuroshard or
  /// kPublished.
  SearchDriver(SearchMachine machine, const PlannerOptions& options, const PlanRequest& request);

  /// Uses the leased threads for single searches on the CPU.
  void use_threads(ThreadTeam::Lease lease, int threads) {
    lease_.emplace(std::move(lease));
    threads_ = threads;
  }

  /// Where the outcome of a task goes. Borrows both until it is out.
  struct Job {
    const Task& task;  ///< Valid.
    PlanOutcome& outcome;
  };
  /// Starts searches; the GPU computes their embeddings if there are enough to be worth a launch.
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
    std::unique_ptr<PieceCatalog> catalog{};  ///< Borrowed by the search, unless it has taken it.
    std::unique_ptr<TaskSearch> search{};
    const PlacementProblem* problem = nullptr;  ///< That of the session.
    std::unique_ptr<PlacementSession> session{};
    std::vector<CandidateResult> results{};
    PlanResult result{};  ///< Becomes the outcome.
    bool left = false;    ///< The outcome is out.

    [[nodiscard]] bool running() const { return !left && search->running(); }
  };

  [[nodiscard]] const Backend& backend() const;
  /// On the CPU, catalogs have no embeddings if `stop` is reached before.
  void embed(std::span<PieceCatalog> catalogs, const StopCondition& stop);
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
  void open_session(Run& run);
  void end_session(Run& run);
  void place_candidates();
  /// Call in a handler: throws again unless `error` is a failure of the GPU that can be survived.
  void fall_back(const Error& error);
  void finish(Run& run);

  SearchMachine machine_;
  const PlannerOptions& options_;
  const PlanRequest& request_;
  StopCondition stop_;
  std::optional<ThreadTeam::Lease> lease_;
  int threads_ = 1;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Backend::Request> requests_;
};

}  // namespace neuroshard
