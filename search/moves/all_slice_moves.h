#pragma once

#include <algorithm>
#include <array>

#include "search/state/plan_limits.h"
#include "search/state/plan_state.h"

namespace neuroshard {

/// Small moves like those that SliceMoves draws, one after the other, in an order that depends on
/// the plan alone.
class AllSliceMoves {
 public:
  /// Borrows `state`.
  explicit AllSliceMoves(const PlanState& state) : state_(state) {}

  /// Calls visit(edit) for edits of the slices that a device has, all rows or some, as far as they
  /// keep limits: a slice, or half of it, goes elsewhere; two change places; a slice hands columns
  /// on to another of its table, or joins it. Ends once visit() returns false.
  template <typename Visit>
  void for_each_at(int device, const Visit& visit) {
    const auto take = [&] { return !keeps_limits(state_, edit_) || visit(edit_); };
    for (const Way way : state_.ways().with_places()) {
      for (const int id : state_.on(way, device)) {
        if (!moves_of(id, take) || !hand_ons_of(id, take)) return;
      }
    }
  }

 private:
  template <typename Take>
  bool moves_of(int id, const Take& take) {
    const StateSlice& slice = state_.slice(id);
    for (int place = 0; place < state_.ways().places(slice.way); ++place) {
      if (place == slice.place) continue;
      set({id}, {slice.at(place)});
      if (!take()) return false;
      const int half = slice.width / (2 * kDimMultiple) * kDimMultiple;
      if (half > 0 && state_.ways().of(slice.table).least_width <= slice.width / 2) {
        set({id}, {slice.wide(half), slice.at(place).wide(slice.width - half)});
        if (!take()) return false;
      }
      for (const int other : state_.at(slice.way, place)) {
        const StateSlice& with = state_.slice(other);
        if (with.table == slice.table && with.width == slice.width) continue;
        set({id, other}, {slice.at(place), with.at(slice.place)});
        if (!take()) return false;
      }
    }
    return true;
  }

  template <typename Take>
  bool hand_ons_of(int id, const Take& take) {
    const StateSlice& slice = state_.slice(id);
    const int units = slice.width / kDimMultiple;
    std::array handed = {1, 2, 4, units / 2, units};
    std::ranges::sort(handed);
    for (const int other : state_.of_table(slice.table)) {
      if (other == id) continue;
      const StateSlice& takes = state_.slice(other);
      int before = 0;
      for (const int count : handed) {
        if (count == before || count > units) continue;
        before = count;
        const int width = count * kDimMultiple;
        if (count == units) {
          set({id, other}, {takes.wide(takes.width + width)});
        } else {
          set({id, other}, {slice.wide(slice.width - width), takes.wide(takes.width + width)});
        }
        if (!take()) return false;
      }
    }
    return true;
  }

  void set(std::initializer_list<int> out, std::initializer_list<StateSlice> in) {
    edit_.out = out;
    edit_.in = in;
  }

  const PlanState& state_;
  Edit edit_;
};

}  // namespace neuroshard
