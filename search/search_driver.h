#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/thread_team.h"
#include "neuroshard/error.h"
#include "search/task_search.h"

namespace neuroshard {

/// Runs searches on a backend, many in common launches if wanted. If a GPU fails half-way, goes on
/// where it was on the CPU: the arithmetic is the same, so the plans are. One per thread and call.
class SearchDriver {
 public:
  /// Borrows everything. `gpu` may be null; `may_fall_back`: whether its failure is survived, or
  /// thrown to the caller, who asked for that backend and no other. `warning` goes to the
  /// statistics of every search; a later one takes its place.
  SearchDriver(const Backend* gpu, bool may_fall_back, const CpuBackend& cpu,
               const SearchOptions& options, std::string warning = {})
      : gpu_(gpu),
        may_fall_back_(may_fall_back),
        cpu_(cpu),
        options_(options),
        warning_(std::move(warning)) {}

  /// Uses the leased threads for single searches on the CPU.
  void use_threads(ThreadTeam::Lease lease, int threads) {
    lease_.emplace(std::move(lease));
    threads_ = threads;
  }

  /// Starts a search; `task` is valid and is borrowed until its result is out.
  void add(const Task& task, PlanResult& result) { add({&task, 1}, {&result, 1}); }
  /// Starts several; the GPU computes their embeddings if there are enough to be worth a launch.
  void add(std::span<const Task> tasks, std::span<PlanResult> results);
  [[nodiscard]] std::size_t in_flight() const { return runs_.size(); }
  /// One evaluation for every search in flight. Those that finish write their result and leave.
  void advance();

 private:
  struct Run {
    Run(const CpuBackend& cpu, const Task& task, const SearchOptions& options, PlanResult& result,
        double started_ms, PiecePool pool);

    const Task& task;
    PlanResult& result;
    double started_ms;
    TaskSearch search;
    std::unique_ptr<PlacementSession> session;
    std::vector<CandidateResult> results;
  };

  [[nodiscard]] const Backend& backend() const;
  [[nodiscard]] std::vector<PiecePool> piece_pools(std::span<const Task> tasks);
  void start_session(Run& run);
  void evaluate();
  /// Call in a handler: throws again unless `error` is a failure of the GPU that can be survived.
  void fall_back(const Error& error);
  void finish(Run& run);

  const Backend* gpu_;
  bool may_fall_back_;
  const CpuBackend& cpu_;
  const SearchOptions& options_;
  std::optional<ThreadTeam::Lease> lease_;
  int threads_ = 1;
  std::string warning_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Backend::Request> requests_;
};

}  // namespace neuroshard
