#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "neuroshard/stop_condition.h"
#include "search/moves/all_slice_moves.h"
#include "search/state/edit_prices.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// A search through whole neighbourhoods (Glover: Tabu search, part I, 1989). All small edits of
/// the devices that a plan waits for are priced, and the cheapest is applied, also if the plan is
/// then dearer. A place that has lost columns of a table gets none of them for some turns, so that
/// the search leaves a plan that no single edit makes cheaper. It finds what annealing does not:
/// from one plan, the best of thousands of edits.
class TabuSearch {
 public:
  /// Borrows all. Of symmetric models: others price edits too slowly.
  TabuSearch(PlanState& state, StatePrices& prices, EditPrices& edit_prices);

  /// Goes on from the plan of the state, which is priced, and leaves the cheapest one that it has
  /// come to; edits cannot be undone to one before it. Ends some turns after that, after so many
  /// edits, or at `stop`. Returns how many edits it has looked at.
  std::uint64_t run(std::uint64_t most_edits, const StopCondition& stop);

 private:
  /// Columns of a table at a place.
  using Holding = std::tuple<int, Way, int>;

  /// Finds `chosen_`. False: none, or `stop` is reached.
  bool choose(const StopCondition& stop);
  /// Prices the batch, and keeps its best.
  void price_batch();
  [[nodiscard]] std::vector<std::size_t> decisive_devices() const;
  [[nodiscard]] std::map<Holding, int> columns_gained(const Edit& edit) const;
  [[nodiscard]] bool is_tabu(const Edit& edit) const;
  void apply_chosen();

  PlanState& state_;
  StatePrices& prices_;
  EditPrices& edit_prices_;
  AllSliceMoves moves_;
  std::vector<Edit> batch_;
  std::size_t drawn_ = 0;              ///< Edits in the batch.
  std::map<Holding, int> tabu_until_;  ///< Turn from which on a place may have columns again.
  int turn_ = 0;
  double best_ms_ = 0.0;
  Edit chosen_;
  double chosen_ms_ = 0.0;
  std::uint64_t looked_ = 0;
};

}  // namespace neuroshard
