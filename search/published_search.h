#pragma once

#include <optional>
#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "search/beam_search.h"
#include "search/bundled_task.h"
#include "search/piece_catalog.h"

namespace neuroshard {

/// Algorithm::kPublished, as a machine that hands out batches of candidates and takes in their
/// results, so that a driver can run many tasks in common launches on any backend: the beam search
/// from the unsplit tables and, with memory splits, from the splits that memory forces; then, if
/// nothing fits, splits that make packing easier.
class PublishedSearch {
 public:
  /// Borrows everything; `catalog` has its embeddings, `task` is valid, and the models serve its
  /// device count. When `stop` (null: never) is reached, there may be neither a plan nor a reason.
  /// `bundled`: `task` as it is searched, of which `catalog` is, if it has groups; else null.
  PublishedSearch(const Backend& backend, const Task& task, const SearchOptions& options,
                  const PieceCatalog& catalog, const StopCondition* stop = nullptr,
                  const BundledTask* bundled = nullptr);

  [[nodiscard]] bool running() const { return phase_ != Phase::kFinished; }
  [[nodiscard]] const PlacementProblem& problem() const { return problem_; }
  [[nodiscard]] const CandidateBatch& candidates() const;
  void take(std::span<const CandidateResult> results, PlacementSession& session);
  [[nodiscard]] std::span<const BeamProblem> beams() const;
  void take_beams(std::span<const BeamOutcome> outcomes, PlacementSession& session);
  void finish(PlanResult& result);

 private:
  enum class Phase { kStart, kBeam, kMemorySplits, kFinished };

  [[nodiscard]] const StopCondition& stop() const {
    return problem_.stop != nullptr ? *problem_.stop : never_;
  }
  void request(const std::vector<SplitState>& states);
  void next_beam(PlacementSession& session);
  void after_beam(PlacementSession& session);
  void keep_best(ScoredState found);
  void after_beams(PlacementSession& session);
  void start_memory_splits();
  void pack_without_grid();
  void look_for_room();
  void take_winner(PlacementSession& session);
  /// `device_of`: of each slice, by its place in the order.
  template <typename DeviceOf>
  void set_plan(const SplitState& state, const DeviceOf& device_of);

  const Backend& backend_;
  const Task& task_;  ///< As it is listed.
  const BundledTask* bundled_;
  const Task& searched_;  ///< The bundled one, or the same.
  const SearchOptions& options_;
  const PieceCatalog& catalog_;
  std::optional<PlacementRules> rules_;
  StopCondition never_;
  PlacementProblem problem_;
  Phase phase_ = Phase::kStart;
  /// Beam searches set out from each: the unsplit tables, as published; and, if some table exceeds
  /// a device, the splits that memory forces.
  std::vector<SplitState> starts_;
  std::vector<BeamProblem> beams_;    ///< The problem of each start.
  std::vector<ScoredState> pending_;  ///< Starts whose beam search is still to come.
  CandidateBatch batch_;              ///< Used by all phases but kBeam.
  std::vector<SplitState> ladder_;    ///< Used by phase kMemorySplits: ever more splits.
  std::optional<BeamSearch> beam_;
  std::optional<ScoredState> best_;
  std::uint64_t examined_ = 0;
  std::optional<Plan> plan_;
  std::optional<Infeasibility> infeasible_;
};

/// Column limits of the grid search: floor(scale * mean dim sum) for scales 1.0 ... 1.5.
[[nodiscard]] std::vector<std::int64_t> grid_dim_limits(const Task& task, int grid_steps);

}  // namespace neuroshard
