#include "search/moves/slice_moves.h"

#include <algorithm>
#include <array>
#include <utility>

#include "search/state/plan_limits.h"

namespace neuroshard {
namespace {

// Shares of the moves, the last one what is left: handing columns on.
constexpr double kMoves = 0.18;
constexpr double kSwaps = 0.35;
constexpr double kSplits = 0.115;
constexpr double kJoins = 0.135;
constexpr double kExchanges = 0.05;

constexpr double kFromWaitedFor = 0.8;
constexpr double kForTwo = 0.3;
constexpr double kOfSameWidth = 0.5;
constexpr double kInHalves = 0.5;
constexpr double kBringBack = 0.4;
constexpr double kToRoom = 0.5;   // Where plans do not fit.
constexpr double kToFirst = 0.5;  // To that of two devices which is ready first.
constexpr double kOneUnit = 0.6;  // Share of moves that hand on no more.
constexpr int kLooksForWidth = 4;
constexpr int kLooksForTable = 8;

/// The first of so many devices of which `value` says most.
template <typename Value>
int device_of_most(int devices, const Value& value) {
  int found = 0;
  auto most = value(0);
  for (int device = 1; device < devices; ++device) {
    if (value(device) <= most) continue;
    found = device;
    most = value(device);
  }
  return found;
}

int drawn(Random& random, std::size_t count) { return static_cast<int>(random.below(count)); }

int one_of(Random& random, const std::vector<int>& list) { return list[random.below(list.size())]; }

}  // namespace

bool SliceMoves::draw(Edit& edit) {
  edit.clear();
  const int id = pick();
  if (id < 0) return false;
  const double u = random_.uniform();
  if (u < kMoves) {
    move(edit, id);
  } else if (u < kMoves + kSwaps) {
    swap(edit, id);
  } else if (u < kMoves + kSwaps + kSplits) {
    split(edit, id);
  } else if (u < kMoves + kSwaps + kSplits + kJoins) {
    join(edit, id);
  } else if (state_.ways().halves()) {
    swap_for_halves(edit, id);
  } else if (u < kMoves + kSwaps + kSplits + kJoins + kExchanges) {
    exchange(edit, id);
  } else {
    hand_on(edit, id);
  }
  return !edit.empty() && keeps_limits(state_, edit);
}

int SliceMoves::device_waited_for() {
  if (state_.sums.missing_bytes > 0 && random_.uniform() < 0.5) {
    return device_of_most(state_.ways().devices(), [&](int d) { return -left_bytes(d); });
  }
  const DeviceRanks& ranks = prices_.ranks();
  const std::array waited_for = {ranks.slowest, ranks.last_ready, ranks.widest, ranks.busiest};
  return static_cast<int>(waited_for[random_.below(waited_for.size())]);
}

int SliceMoves::pick() {
  if (random_.uniform() < kFromWaitedFor) {
    const int device = device_waited_for();
    std::size_t count = 0;
    for (const Way way : state_.ways().with_places()) count += state_.on(way, device).size();
    if (count == 0) return -1;
    std::size_t i = random_.below(count);
    for (const Way way : state_.ways().with_places()) {
      const std::vector<int>& slices = state_.on(way, device);
      if (i < slices.size()) return slices[i];
      i -= slices.size();
    }
  }
  for (int look = 0; look < kLooksForTable; ++look) {
    const int table = one_of(random_, state_.tables());
    if (state_.is_replica(table)) continue;
    const int id = one_of(random_, state_.of_table(table));
    return state_.ways().is_everywhere(state_.slice(id).way) ? -1 : id;
  }
  return -1;
}

int SliceMoves::elsewhere(const StateSlice& slice) {
  if (state_.sums.missing_bytes > 0 && state_.ways().is_on_device(slice.way) &&
      random_.uniform() < kToRoom) {
    const int device =
        device_of_most(state_.ways().devices(), [&](int d) { return left_bytes(d); });
    if (device != slice.place) return device;
  }
  const auto any = [&] {
    const int place = drawn(random_, static_cast<std::size_t>(state_.ways().places(slice.way)) - 1);
    return place < slice.place ? place : place + 1;
  };
  const int place = any();
  if (!state_.ways().is_on_device(slice.way) || random_.uniform() >= kToFirst) return place;
  const auto ready_ms = [&](int device) {
    return prices_.ranks().ready_ms[static_cast<std::size_t>(device)];
  };
  const int other = any();
  return ready_ms(other) < ready_ms(place) ? other : place;
}

int SliceMoves::like(const std::vector<int>& list, int width) {
  int id = one_of(random_, list);
  for (int look = 0; look < kLooksForWidth && state_.slice(id).width != width; ++look) {
    id = one_of(random_, list);
  }
  return id;
}

int SliceMoves::sibling(int id) {
  const StateSlice& slice = state_.slice(id);
  const std::vector<int>& slices = state_.of_table(slice.table);
  if (slices.size() < 2) return -1;
  const int other = state_.ways().halves() ? like(slices, slice.width) : one_of(random_, slices);
  return other == id ? -1 : other;
}

void SliceMoves::swap_for_halves(Edit& edit, int id) {
  const StateSlice& slice = state_.slice(id);
  if (state_.ways().places(slice.way) < 2) return;
  const int place = elsewhere(slice);
  const std::vector<int>& there = state_.at(slice.way, place);
  if (there.size() < 2) return;
  const int first = like(there, slice.width / 2);
  const int second = like(there, slice.width - state_.slice(first).width);
  if (first == second) return;
  edit.out = {id, first, second};
  edit.in = {slice.at(place), state_.slice(first).at(slice.place),
             state_.slice(second).at(slice.place)};
}

void SliceMoves::bring_back(Edit& edit, Way way, int to, int from, int width) {
  const std::vector<int>& list = state_.at(way, from);
  if (list.empty()) return;
  const int id = like(list, width);
  if (std::ranges::find(edit.out, id) != edit.out.end()) return;
  edit.out.push_back(id);
  edit.in.push_back(state_.slice(id).at(to));
}

void SliceMoves::move(Edit& edit, int id) {
  const StateSlice& slice = state_.slice(id);
  if (state_.ways().places(slice.way) < 2) return;
  edit.out.push_back(id);
  edit.in.push_back(slice.at(elsewhere(slice)));
}

void SliceMoves::swap(Edit& edit, int id) {
  const StateSlice& slice = state_.slice(id);
  if (state_.ways().places(slice.way) < 2) return;
  const int place = elsewhere(slice);
  const std::vector<int>& there = state_.at(slice.way, place);
  if (there.empty()) return;
  const bool same_width = random_.uniform() < kOfSameWidth;
  const int other = same_width ? like(there, slice.width) : one_of(random_, there);
  edit.out = {id, other};
  edit.in = {slice.at(place), state_.slice(other).at(slice.place)};
  if (there.size() < 2 || random_.uniform() >= kForTwo) return;
  const int second = one_of(random_, there);
  if (second == other) return;
  edit.out.push_back(second);
  edit.in.push_back(state_.slice(second).at(slice.place));
}

int SliceMoves::part_of(int units) {
  return state_.ways().halves() || random_.uniform() < kInHalves
             ? units / 2
             : 1 + drawn(random_, static_cast<std::size_t>(units) - 1);
}

void SliceMoves::split(Edit& edit, int id) {
  const StateSlice& slice = state_.slice(id);
  const int units = slice.width / kDimMultiple;
  if (units < 2 || state_.ways().of(slice.table).least_width > slice.width / 2) return;
  const StateSlice stays = slice.wide(kDimMultiple * part_of(units));
  StateSlice goes = slice.wide(slice.width - stays.width);
  if (state_.ways().places(slice.way) > 1) goes.place = elsewhere(slice);
  edit.out.push_back(id);
  edit.in = {stays, goes};
  if (goes.place != slice.place && random_.uniform() < kBringBack) {
    bring_back(edit, slice.way, slice.place, goes.place, goes.width);
  }
}

void SliceMoves::join(Edit& edit, int id) {
  const int other = sibling(id);
  if (other < 0) return;
  const StateSlice& slice = state_.slice(id);
  const StateSlice& with = state_.slice(other);
  StateSlice joined = with.wide(with.width + slice.width);
  int left = slice.place;  // Where columns go away.
  int left_width = slice.width;
  if (random_.uniform() < 0.5) {
    std::swap(left, joined.place);
    left_width = with.width;
  }
  edit.out = {id, other};
  edit.in = {joined};
  if (left != joined.place && random_.uniform() < kBringBack) {
    bring_back(edit, slice.way, left, joined.place, left_width);
  }
}

void SliceMoves::exchange(Edit& edit, int id) {
  const StateSlice& slice = state_.slice(id);
  if (state_.ways().places(slice.way) < 2) return;
  const int place = elsewhere(slice);
  const std::vector<int>& there = state_.at(slice.way, place);
  if (there.empty()) return;
  const int other = one_of(random_, there);
  const StateSlice& with = state_.slice(other);
  const int units = std::min(slice.width, with.width) / kDimMultiple;
  if (with.table == slice.table || units < 2) return;
  const int width = kDimMultiple * part_of(units);
  move_columns(edit, id, place, width);
  move_columns(edit, other, slice.place, width);
}

void SliceMoves::move_columns(Edit& edit, int id, int place, int width) {
  const StateSlice& slice = state_.slice(id);
  StateSlice goes = slice.at(place).wide(width);
  edit.out.push_back(id);
  for (const int sibling : state_.of_table(slice.table)) {
    if (state_.slice(sibling).place != place) continue;
    edit.out.push_back(sibling);
    goes.width += state_.slice(sibling).width;
    break;
  }
  edit.in.push_back(slice.wide(slice.width - width));
  edit.in.push_back(goes);
}

void SliceMoves::hand_on(Edit& edit, int id) {
  const int other = sibling(id);
  const StateSlice& slice = state_.slice(id);
  if (other < 0 || slice.width < 2 * kDimMultiple) return;
  const int units = slice.width / kDimMultiple;
  const int handed =
      random_.uniform() < kOneUnit ? 1 : 1 + drawn(random_, static_cast<std::size_t>(units) - 1);
  const StateSlice& takes = state_.slice(other);
  const int width = kDimMultiple * handed;
  edit.out = {id, other};
  edit.in = {slice.wide(slice.width - width), takes.wide(takes.width + width)};
}

}  // namespace neuroshard
