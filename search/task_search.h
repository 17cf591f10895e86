#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "neuroshard/backend.h"
#include "neuroshard/plan_result.h"

namespace neuroshard {

/// A search for one task, as a machine that hands out batches of candidates and takes in their
/// results, so that a driver can run many tasks in common launches on any backend.
class TaskSearch {
 public:
  TaskSearch() = default;
  virtual ~TaskSearch() = default;
  TaskSearch(const TaskSearch&) = delete;
  TaskSearch& operator=(const TaskSearch&) = delete;

  [[nodiscard]] virtual bool running() const = 0;
  /// While running: what a session needs to know. Another address than before means another
  /// problem, which wants a new session.
  [[nodiscard]] virtual const PlacementProblem& problem() const = 0;
  /// While running: to be placed with a session for problem(); not empty.
  [[nodiscard]] virtual const CandidateBatch& candidates() const = 0;
  /// `session`: the one that has placed them, to ask which devices pieces went to.
  virtual void take(std::span<const CandidateResult> results, PlacementSession& session) = 0;

  /// While running: the beam searches that candidates() would be the first levels of, for a session
  /// that can run each of them. Empty: none begins here.
  [[nodiscard]] virtual std::span<const BeamProblem> beams() const { return {}; }
  /// In place of take(): `outcomes`, one per beam search.
  virtual void take_beams(std::span<const BeamOutcome> outcomes, PlacementSession& session) {
    (void)outcomes, (void)session;
  }

  /// While running: chains of annealing, of annealing_problem(), for a backend that can anneal it;
  /// in place of candidates(). Empty: there is something to place.
  [[nodiscard]] virtual std::span<const AnnealingChain> chains() const { return {}; }
  [[nodiscard]] virtual const AnnealingProblem* annealing_problem() const { return nullptr; }
  /// In place of take(): `outcomes`, one per chain; of those that are empty, the search runs the
  /// chains itself.
  virtual void take_chains(std::span<std::optional<Annealed>> outcomes) { (void)outcomes; }

  /// Once it no longer runs: writes the plan with its cost, or why there is none, and adds to the
  /// counters in `result.stats`. Call once.
  virtual void finish(PlanResult& result) = 0;
};

}  // namespace neuroshard
