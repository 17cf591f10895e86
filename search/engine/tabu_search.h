#pragma once

#include <cstdint>

#include "neuroshard/stop_condition.h"
#include "search/state/edit_prices.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// A search through whole neighbourhoods (Glover: Tabu search, part I, 1989). All small edits of
/// the devices that a plan waits for are priced, and the cheapest is applied, also if the plan is
/// then dearer. A place that has lost columns of a table gets none of them for some turns, so that
/// the search leaves a plan that no single edit makes cheaper. It finds what annealing does not:
/// from one plan, the best of thousands of edits.
///
/// Goes on from the plan of the state, which is priced, and leaves the cheapest one that it has
/// come to; edits cannot be undone to one before it. Ends some turns after that, after so many
/// edits, or at `stop`. Returns how many edits it has looked at. For symmetric models: others price
/// edits too slowly.
std::uint64_t tabu_search(PlanState& state, StatePrices& prices, EditPrices& edit_prices,
                          std::uint64_t most_edits, const StopCondition& stop);

}  // namespace neuroshard
