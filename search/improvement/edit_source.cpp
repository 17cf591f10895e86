#include "search/improvement/edit_source.h"

#include <algorithm>

namespace neuroshard {
namespace {

void exchange(const WorkingPlan& plan, PlanEdit& edit, std::uint32_t slice, std::uint32_t to) {
  PlacedSlice moved = plan.slice(slice);
  edit.remove(slice);
  moved.device = to;
  edit.add(moved);
}

}  // namespace

std::optional<std::uint32_t> EditSource::other_device(std::uint32_t device) {
  const std::uint32_t devices = plan_.devices();
  if (devices < 2) return std::nullopt;
  const std::uint32_t drawn = below(devices - 1);
  return drawn < device ? drawn : drawn + 1;
}

std::optional<EditSource::Slice> EditSource::slice_on(std::uint32_t device) {
  const std::span<const Slice> slices = plan_.on_device(device);
  if (slices.empty()) return std::nullopt;
  return slices[below(slices.size())];
}

std::optional<EditSource::Slice> EditSource::slice_on(std::uint32_t device, int dim, Slice but) {
  const std::span<const Slice> slices = plan_.on_device(device);
  if (slices.empty()) return std::nullopt;
  for (int attempt = 0; attempt < annealing::kTriesForWidth; ++attempt) {
    const Slice slice = slices[below(slices.size())];
    if (slice != but && plan_.catalog().dim(plan_.slice(slice).piece) == dim) return slice;
  }
  return std::nullopt;
}

std::optional<EditSource::Slice> EditSource::first_slice(const CriticalDevices& critical) {
  if (random_.uniform() >= annealing::kAimed) return below(plan_.layout().size());
  switch (below(critical.busiest ? 4 : 3)) {
    case 3:
      return slice_on(*critical.busiest);
    case 0:
      return slice_on(critical.last_ready);
    case 1:
      return slice_on(critical.widest);
    default:
      return slice_on(critical.slowest);
  }
}

std::optional<PlanEdit> EditSource::draw(const CriticalDevices& critical) {
  const std::optional<Slice> slice = first_slice(critical);
  if (!slice) return std::nullopt;
  double kind = random_.uniform();
  const auto is = [&](double share) { return (kind -= share) < 0.0; };
  std::optional<PlanEdit> edit = is(annealing::kMoves)         ? move(*slice)
                                 : is(annealing::kSwaps)       ? swap(*slice)
                                 : is(annealing::kSwapsForTwo) ? swap_for_two(*slice)
                                 : is(annealing::kHalvings)    ? halve(*slice)
                                                               : join(*slice);
  if (edit && halves_ == Halves::kJoined) join_halves(plan_, *edit);
  return edit;
}

std::optional<PlanEdit> EditSource::move(Slice slice) {
  const std::uint32_t from = plan_.slice(slice).device;
  const auto to = other_device(from);
  if (!to) return std::nullopt;
  PlanEdit edit(from, *to);
  exchange(plan_, edit, slice, *to);
  return edit;
}

std::optional<PlanEdit> EditSource::swap(Slice slice) {
  const PlacedSlice& one = plan_.slice(slice);
  const auto to = other_device(one.device);
  if (!to) return std::nullopt;
  const auto other =
      below(2) == 0 ? slice_on(*to) : slice_on(*to, plan_.catalog().dim(one.piece), slice);
  if (!other || plan_.slice(*other).piece == one.piece) return std::nullopt;
  PlanEdit edit(one.device, *to);
  exchange(plan_, edit, slice, *to);
  exchange(plan_, edit, *other, one.device);
  return edit;
}

std::optional<PlanEdit> EditSource::swap_for_two(Slice slice) {
  const PlacedSlice& one = plan_.slice(slice);
  const int dim = plan_.catalog().dim(one.piece);
  const auto to = other_device(one.device);
  if (!to || dim % 2 != 0) return std::nullopt;
  const auto first = slice_on(*to, dim / 2, slice);
  if (!first) return std::nullopt;
  const auto second = slice_on(*to, dim / 2, *first);
  if (!second) return std::nullopt;
  PlanEdit edit(one.device, *to);
  exchange(plan_, edit, slice, *to);
  exchange(plan_, edit, *first, one.device);
  exchange(plan_, edit, *second, one.device);
  return edit;
}

std::optional<PlanEdit> EditSource::halve(Slice slice) {
  const PlacedSlice one = plan_.slice(slice);
  if (!plan_.can_halve(one)) return std::nullopt;
  const auto to = other_device(one.device);
  if (!to) return std::nullopt;
  const std::uint32_t half = plan_.catalog().half(one.piece);
  PlanEdit edit(one.device, *to);
  edit.remove(slice);
  edit.add({half, one.table, one.device});
  edit.add({half, one.table, *to});
  if (below(2) == 0) return edit;
  const auto back = slice_on(*to, plan_.catalog().dim(half), slice);
  if (!back) return std::nullopt;
  exchange(plan_, edit, *back, one.device);
  return edit;
}

std::optional<PlanEdit> EditSource::join(Slice slice) {
  const PlacedSlice one = plan_.slice(slice);
  if (!plan_.can_join(one)) return std::nullopt;
  const std::span<const Slice> same_table = plan_.of_table(one.table);
  // From a random one on, the first other slice of this width.
  const std::size_t start = below(same_table.size());
  for (std::size_t i = 0; i < same_table.size(); ++i) {
    const Slice other = same_table[(start + i) % same_table.size()];
    if (other == slice || plan_.slice(other).piece != one.piece) continue;
    const std::uint32_t from = plan_.slice(other).device;
    PlanEdit edit(one.device, from);
    edit.remove(slice);
    edit.remove(other);
    edit.add({one.piece - 1, one.table, one.device});
    if (from == one.device || below(2) == 0) return edit;
    const auto back = slice_on(one.device, plan_.catalog().dim(one.piece), slice);
    if (!back) return std::nullopt;
    exchange(plan_, edit, *back, from);
    return edit;
  }
  return std::nullopt;
}

void join_halves(const WorkingPlan& plan, PlanEdit& edit) {
  const auto is_removed = [&](std::uint32_t slice) {
    const auto removed = edit.removed();
    return std::find(removed.begin(), removed.end(), slice) != removed.end();
  };
  const auto find_added = [&](const PlacedSlice& half,
                              std::size_t but) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < edit.added().size(); ++i) {
      if (i != but && edit.added()[i] == half) return i;
    }
    return std::nullopt;
  };
  const auto find_placed = [&](const PlacedSlice& half) -> std::optional<std::uint32_t> {
    for (const std::uint32_t slice : plan.of_table(half.table)) {
      if (plan.slice(slice) == half && !is_removed(slice)) return slice;
    }
    return std::nullopt;
  };
  for (std::size_t i = 0; i < edit.added().size();) {
    PlacedSlice& half = edit.added(i);
    if (!plan.can_join(half)) {
      ++i;
      continue;
    }
    if (const auto other = find_added(half, i)) {
      --half.piece;
      edit.drop_added(*other);
      i = 0;  // Numbers have changed.
    } else if (const auto placed = find_placed(half);
               placed && edit.removed().size() < PlanEdit::kMostRemoved) {
      --half.piece;
      edit.remove(*placed);
    } else {
      ++i;
    }
  }
}

}  // namespace neuroshard
