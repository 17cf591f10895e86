#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "core/base/random.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "search/bundled_task.h"
#include "search/moves/neighbourhoods.h"
#include "search/moves/rebuild.h"
#include "search/moves/slice_moves.h"
#include "search/state/edit_prices.h"
#include "search/state/plan_state.h"
#include "search/state/shard_catalog.h"
#include "search/state/state_prices.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// One course of the search through complete plans: a large neighbourhood is rebuilt, the plan
/// settles by some hundreds of small moves, and is kept or undone (Shaw: Using constraint
/// programming and local search methods to solve vehicle routing problems, 1998; Ropke, Pisinger:
/// An adaptive large neighborhood search heuristic, 2006). What it does depends on the task, the
/// start and its number alone, and a longer course begins with a shorter one.
class Chain {
 public:
  /// Borrows `backend` and `bundled`. `start`: a valid plan of `bundled.task`. `number`: of its
  /// random numbers. A chain that is stopped before it has read the plan finds nothing.
  Chain(const Backend& backend, const BundledTask& bundled, const WayOptions& options,
        const Plan& start, std::uint64_t number, const StopCondition& stop);
  Chain(const Chain&) = delete;  // Its parts borrow from each other.
  Chain& operator=(const Chain&) = delete;

  /// Goes on until so many edits have been looked at in all, or `stop` is reached.
  void run(std::uint64_t edits, const StopCondition& stop);

  /// The best plan so far that fits and is cheaper than the start, about at this cost; null: none.
  [[nodiscard]] const Plan* best() const { return best_ ? &*best_ : nullptr; }
  [[nodiscard]] double best_ms() const { return best_ms_; }

  [[nodiscard]] std::uint64_t edits() const { return done_; }
  [[nodiscard]] std::uint64_t head_evaluations() const {
    return prices_.head_evaluations() + edit_prices_.head_evaluations();
  }
  [[nodiscard]] std::uint64_t comm_evaluations() const {
    return prices_.comm_evaluations() + edit_prices_.comm_evaluations();
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  void begin(const StopCondition& stop);
  /// Replicas by number and slices by size, placed anew: the best few settle.
  void try_ladder(const StopCondition& stop);
  /// The tables with most to do, each in another way.
  void try_ways(const StopCondition& stop);
  /// Takes back all edits since `before_` unless they settle to a cheaper plan, by one `part`th of
  /// the usual edits.
  void settle_and_keep(std::uint64_t part, const StopCondition& stop);
  struct Cut;
  struct Rung;
  bool build(const Rung& rung);
  /// Anneals by small moves, from a temperature down to nothing.
  void settle(std::uint64_t edits, double hottest_ms, double most_ms, const StopCondition& stop);
  void keep_if_best();
  [[nodiscard]] std::uint64_t settling_edits() const;

  ShardCatalog catalog_;
  TableWays ways_;
  PlanState state_;
  StatePrices prices_;
  EditPrices edit_prices_;
  std::uint64_t number_;
  Random random_;
  SliceMoves moves_;
  Rebuild rebuild_;
  Neighbourhoods neighbourhoods_;
  PlanSums before_;
  std::vector<Edit> batch_;
  std::vector<double> limits_ms_;
  std::optional<Plan> best_;
  double best_ms_ = kNone;
  double current_ms_ = kNone;
  std::uint64_t done_ = 0;
  double accepted_share_ = 0.2;
  bool begun_ = false;
};

}  // namespace neuroshard
