#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/cpu_backend.h"
#include "neuroshard/planner.h"
#include "search/beam_search.h"
#include "search/piece_pool.h"

namespace neuroshard {

/// The whole search for one task: splits that memory forces, then the beam search, then, if nothing
/// fits, splits that make packing easier. Hands out batches of candidates until it is finished, so
/// that a driver can run many tasks in common launches.
class TaskSearch {
 public:
  /// Borrows everything but `pool`, the task's pieces with their embeddings; `task` is valid, and
  /// the models serve its device count. `cpu` places the winner once more to learn which device
  /// every slice went to.
  TaskSearch(const CpuBackend& cpu, const Task& task, const SearchOptions& options, PiecePool pool);
  /// `cpu` computes the embeddings too.
  TaskSearch(const CpuBackend& cpu, const Task& task, const SearchOptions& options)
      : TaskSearch(cpu, task, options, PiecePool(cpu, task)) {}

  TaskSearch(const TaskSearch&) = delete;  // The beam search borrows the pool.
  TaskSearch& operator=(const TaskSearch&) = delete;

  [[nodiscard]] bool running() const { return phase_ != Phase::kFinished; }
  /// To be evaluated with a session for problem(); not empty while the search is running.
  [[nodiscard]] const CandidateBatch& candidates() const;
  void take(std::span<const CandidateResult> results);

  /// What a session needs to know.
  [[nodiscard]] const PlacementProblem& problem() const { return problem_; }

  /// Once finished: the plan, or else why there is none.
  [[nodiscard]] std::optional<Plan>& plan() { return plan_; }
  [[nodiscard]] std::optional<Infeasibility>& infeasible() { return infeasible_; }
  /// Candidates handed out so far.
  [[nodiscard]] std::uint64_t candidates_examined() const { return examined_; }

 private:
  enum class Phase { kStart, kBeam, kMemorySplits, kFinished };

  void request(const std::vector<SplitState>& states);
  void next_beam();
  void after_beam();
  void start_memory_splits();
  void pack_without_grid();
  void finish();

  const CpuBackend& cpu_;
  const Task& task_;
  const SearchOptions& options_;
  PiecePool pool_;
  PlacementProblem problem_;
  Phase phase_ = Phase::kStart;
  /// Beam searches set out from each: the unsplit tables, as published; and, if some table exceeds
  /// a device, the splits that memory forces.
  std::vector<SplitState> starts_;
  std::vector<ScoredState> pending_;  ///< Starts whose beam search is still to come.
  CandidateBatch batch_;              ///< Of the phases other than kBeam.
  std::vector<SplitState> ladder_;    ///< Of phase kMemorySplits: ever more splits.
  std::optional<BeamSearch> beam_;
  std::optional<ScoredState> best_;
  std::uint64_t examined_ = 0;
  std::optional<Plan> plan_;
  std::optional<Infeasibility> infeasible_;
};

/// Column limits of the grid search: floor(scale * mean dim sum) for scales 1.0 ... 1.5.
[[nodiscard]] std::vector<std::int64_t> grid_dim_limits(const Task& task, int grid_steps);

}  // namespace neuroshard
