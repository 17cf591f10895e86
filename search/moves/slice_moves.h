#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// Moves that change where a few slices are, or how wide: a slice goes elsewhere, changes places
/// with one or two others, is split anywhere, joined with another slice of its table, or hands
/// columns on to it. Most begin at a device that the plan waits for.
class SliceMoves {
 public:
  /// Borrows all.
  SliceMoves(const PlanState& state, const StatePrices& prices, Random& random)
      : state_(state), prices_(prices), random_(random) {}

  /// False: nothing was drawn, or nothing that keeps limits.
  [[nodiscard]] bool draw(Edit& edit);

 private:
  /// A slice that may be changed, or -1.
  [[nodiscard]] int pick();
  [[nodiscard]] int device_waited_for();
  /// A device's, beside replicas.
  [[nodiscard]] std::int64_t left_bytes(int device) const {
    return prices_.room_bytes(device) - state_.sums.bytes[static_cast<std::size_t>(device)];
  }
  /// Another place than that of `slice`, which has one.
  [[nodiscard]] int elsewhere(const StateSlice& slice);
  /// One of `list`, which has some, preferably of this width.
  [[nodiscard]] int like(const std::vector<int>& list, int width);
  /// Another slice of the table, or -1.
  [[nodiscard]] int sibling(int id);
  /// Half of so many units, of which there are two at least, or any number of them but all.
  [[nodiscard]] int part_of(int units);
  void move(Edit& edit, int id);
  void swap(Edit& edit, int id);
  void split(Edit& edit, int id);
  void join(Edit& edit, int id);
  void hand_on(Edit& edit, int id);
  /// Two tables exchange as many columns.
  void exchange(Edit& edit, int id);
  /// Some columns of a slice go to another place, and join what the table has there.
  void move_columns(Edit& edit, int id, int place, int width);
  /// Where columns are halved alone, in place of handing them on.
  void swap_for_halves(Edit& edit, int id);
  /// Some slice of `from` takes the place of what has left `to`.
  void bring_back(Edit& edit, Way way, int to, int from, int width);

  const PlanState& state_;
  const StatePrices& prices_;
  Random& random_;
};

}  // namespace neuroshard
