#include "search/split_state.h"

#include <algorithm>

#include "core/base/count_up.h"

namespace neuroshard {
namespace {

// Orders slices `a` and `b` of one state.
struct PlacedBefore {
  const PieceCatalog& catalog;
  const std::vector<std::uint32_t>& pieces;

  bool operator()(std::uint32_t a, std::uint32_t b) const {
    const float cost_a = catalog.cost_ms(pieces[a]);
    const float cost_b = catalog.cost_ms(pieces[b]);
    return cost_a != cost_b ? cost_a > cost_b : a > b;
  }
};

}  // namespace

SplitState::SplitState(const PieceCatalog& catalog, std::size_t tables)
    : pieces(tables), order(count_up<std::uint32_t>(tables)) {
  for (std::size_t table = 0; table < tables; ++table) pieces[table] = catalog.whole(table);
  std::sort(order.begin(), order.end(), PlacedBefore{catalog, pieces});
}

void SplitState::split(const PieceCatalog& catalog, std::uint32_t slice) {
  order.erase(std::find(order.begin(), order.end(), slice));
  const auto appended = static_cast<std::uint32_t>(pieces.size());
  pieces[slice] = catalog.half(pieces[slice]);
  pieces.push_back(pieces[slice]);
  for (const std::uint32_t half : {slice, appended}) {
    order.insert(std::upper_bound(order.begin(), order.end(), half, PlacedBefore{catalog, pieces}),
                 half);
  }
  column_splits.push_back(static_cast<int>(slice));
}

void SplitState::append_ordered_pieces(std::vector<std::uint32_t>& out) const {
  const std::size_t first = out.size();
  out.resize(first + order.size());
  for (std::size_t i = 0; i < order.size(); ++i) out[first + i] = pieces[order[i]];
}

void SplitState::append_child_pieces(const PieceCatalog& catalog, std::uint32_t slice,
                                     std::vector<std::uint32_t>& out) const {
  const std::uint32_t half = catalog.half(pieces[slice]);
  const float half_cost = catalog.cost_ms(half);
  // The appended half has the highest index, so it goes first among equal costs.
  bool appended = false;
  bool kept = false;
  for (const std::uint32_t other : order) {
    if (other == slice) continue;
    const float other_cost = catalog.cost_ms(pieces[other]);
    if (!appended && half_cost >= other_cost) {
      appended = true;
      out.push_back(half);
    }
    if (!kept && (half_cost > other_cost || (half_cost == other_cost && slice > other))) {
      kept = true;
      out.push_back(half);
    }
    out.push_back(pieces[other]);
  }
  if (!appended) out.push_back(half);
  if (!kept) out.push_back(half);
}

std::vector<std::uint32_t> split_candidates(const PieceCatalog& catalog, const SplitState& state,
                                            int count) {
  const std::size_t slices = state.pieces.size();
  const std::size_t wanted = std::min(slices, static_cast<std::size_t>(count));
  std::vector<std::uint32_t> chosen(state.order.begin(),
                                    state.order.begin() + static_cast<std::ptrdiff_t>(wanted));
  std::vector<std::uint32_t> by_size = count_up<std::uint32_t>(slices);
  const auto middle = by_size.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::partial_sort(by_size.begin(), middle, by_size.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t size_a = catalog.size_bytes(state.pieces[a]);
    const std::int64_t size_b = catalog.size_bytes(state.pieces[b]);
    return size_a != size_b ? size_a > size_b : a > b;
  });
  chosen.insert(chosen.end(), by_size.begin(), middle);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::erase_if(chosen,
                [&](std::uint32_t slice) { return !catalog.can_split_all(state.pieces[slice]); });
  return chosen;
}

}  // namespace neuroshard
