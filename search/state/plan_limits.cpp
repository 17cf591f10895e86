#include "search/state/plan_limits.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

/// Slices that an edit leaves of a table, of all ways.
int slices_after(const PlanState& state, const Edit& edit, int table) {
  const auto is_of_table = [&](int id) { return state.slice(id).table == table; };
  const auto in = std::ranges::count(edit.in, table, &StateSlice::table);
  const auto out = std::ranges::count_if(edit.out, is_of_table);
  return static_cast<int>(state.of_table(table).size()) + static_cast<int>(in - out);
}

bool has_one_width(const PlanState& state, const Edit& edit, const StateSlice& slice) {
  const auto other_width = [&](const StateSlice& other) {
    return other.table == slice.table && other.width != slice.width;
  };
  return std::ranges::none_of(edit.in, other_width) &&
         std::ranges::none_of(state.of_table(slice.table), [&](int id) {
           return std::ranges::find(edit.out, id) == edit.out.end() && other_width(state.slice(id));
         });
}

}  // namespace

bool meets_apart(const PlanState& state, const Edit& edit, const StateSlice& slice) {
  const TableWays& ways = state.ways();
  const auto is_apart = [&](const StateSlice& other) {
    return other.table != slice.table && other.place == slice.place && other.way == Way::kDevice &&
           ways.apart(slice.table, other.table);
  };
  return std::ranges::any_of(edit.in, is_apart) ||
         std::ranges::any_of(state.at(Way::kDevice, slice.place), [&](int id) {
           return std::ranges::find(edit.out, id) == edit.out.end() && is_apart(state.slice(id));
         });
}

bool keeps_limits(const PlanState& state, const Edit& edit) {
  const TableWays& ways = state.ways();
  const MovedBytes* const moved = state.moved();
  for (const StateSlice& slice : edit.in) {
    const TableWays::OfTable& of = ways.of(slice.table);
    if (!ways.may_be_wide(slice.table, slice.width) || !of.may_be_at(slice.way, slice.place)) {
      return false;
    }
    const int most = slice.way == Way::kDevice ? of.most_slices : of.most_node_slices;
    const std::size_t at_most = state.of_table(slice.table).size() + edit.in.size();
    if (slice.way != Way::kAll && static_cast<std::size_t>(most) < at_most &&
        slices_after(state, edit, slice.table) > most) {
      return false;
    }
    if (ways.equal_widths() && !has_one_width(state, edit, slice)) return false;
    if (ways.any_apart() && slice.way == Way::kDevice && meets_apart(state, edit, slice)) {
      return false;
    }
  }
  return moved == nullptr || moved->terms().most_moved_bytes == kAnyBytes ||
         state.moved_bytes_after(edit) <= moved->terms().most_moved_bytes;
}

}  // namespace neuroshard
