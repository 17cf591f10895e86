#pragma once

#include <cstdint>

#include "core/base/random.h"
#include "search/moves/neighbourhoods.h"
#include "search/moves/rebuild.h"
#include "search/moves/slice_moves.h"
#include "search/state/edit_prices.h"

namespace neuroshard::testing {

/// Draws small moves, and every sixth time a rebuild, 60 in all, and calls visit(price) once each
/// was applied: `price` is that of a small move, null after a rebuild. Returns how many small moves
/// there were. `prices`: of `state`, which they price as it is.
template <typename Visit>
int follow_edits(PlanState& state, StatePrices& prices, std::uint64_t seed, const Visit& visit) {
  Random random(seed);
  EditPrices edit_prices(prices);
  SliceMoves moves(state, prices, random);
  Neighbourhoods neighbourhoods(state, prices, random);
  Rebuild rebuild(state, prices, random);
  int followed = 0;
  Edit edit;
  for (int step = 0; step < 60; ++step) {
    if (step % 6 == 5) {
      if (!neighbourhoods.draw(rebuild, true)) continue;
      prices.apply(rebuild.edit());
      visit(nullptr);
      continue;
    }
    if (!moves.draw(edit)) continue;
    edit_prices.begin();
    edit_prices.add(edit, 1e9);
    edit_prices.run();
    const EditPrice price = edit_prices.price(0);
    edit_prices.accept(edit, 0);
    visit(&price);
    ++followed;
  }
  return followed;
}

}  // namespace neuroshard::testing
