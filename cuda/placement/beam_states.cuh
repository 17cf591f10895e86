#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/placement/beam_views.h"

namespace neuroshard::gpu {

/// States of column splits, as search/split_state.h has them; each function by one warp.
struct BeamState {
  std::uint32_t* pieces;   ///< Piece of each slice.
  std::uint32_t* by_cost;  ///< Slices in the order of placement: costliest first.
  std::uint32_t* by_size;  ///< Largest first. The later of equal slices goes first in either.
  std::int32_t* splits;
  std::uint32_t* halved;  ///< Pieces that were halved, ascending.
};

/// Number `state` of a level, whose memory is at `level`.
__device__ inline BeamState state_of(const BeamLayout& layout, std::byte* level, int state) {
  std::byte* at = level + static_cast<std::uint32_t>(state) * layout.state_bytes;
  return {reinterpret_cast<std::uint32_t*>(at),
          reinterpret_cast<std::uint32_t*>(at + layout.by_cost),
          reinterpret_cast<std::uint32_t*>(at + layout.by_size),
          reinterpret_cast<std::int32_t*>(at + layout.splits),
          reinterpret_cast<std::uint32_t*>(at + layout.halved)};
}

/// Properties of pieces that the search must know.
struct BeamPieces {
  const float* cost_ms;
  const PieceView* pieces;
  const std::uint8_t* may_halve;
};

/// The lanes before this one.
__device__ inline unsigned lower_lanes() { return (1U << lane_index()) - 1U; }

/// An order of slices once `slice` is halved: it keeps its index, its other half gets index
/// `count`, and both have the key `half_key` of the piece after its own. The slices are gone
/// through in the old order, one a lane. Calls store(position, slice) for each.
template <typename Key>
class Reordering {
 public:
  __device__ Reordering(std::uint32_t slice, int count, Key half_key)
      : slice_(slice), count_(count), half_key_(half_key) {}

  /// Slice `other`, with its key, is at place `i`; beyond the last one lanes have kNoSlice.
  template <typename Store>
  __device__ void take(int i, std::uint32_t other, Key key, const Store& store) {
    const unsigned found = __ballot_sync(kAllLanes, other == slice_);
    // Not && and ||, of which the compiler makes branches.
    const bool stays = (i < count_) & (other != slice_);
    // The appended half has the highest index, so it goes first among equals.
    const bool first_of_all = stays & (key > half_key_);
    const bool before = first_of_all | (stays & (key == half_key_) & (other > slice_));
    const bool moved_up = behind_slice_ | ((found & lower_lanes()) != 0);
    if (stays) store(i - (moved_up ? 1 : 0) + (first_of_all ? 0 : 1) + (before ? 0 : 1), other);
    before_appended_ += __popc(__ballot_sync(kAllLanes, first_of_all));
    before_kept_ += __popc(__ballot_sync(kAllLanes, before));
    behind_slice_ = behind_slice_ | (found != 0);
  }

  template <typename Store>
  __device__ void finish(const Store& store) const {
    if (lane_index() != 0) return;
    store(before_appended_, static_cast<std::uint32_t>(count_));
    store(before_kept_ + 1, slice_);
  }

 private:
  std::uint32_t slice_;
  int count_;
  Key half_key_;
  bool behind_slice_ = false;
  int before_appended_ = 0;
  int before_kept_ = 0;
};

/// Pieces of a child in the order of placement. `count`: slices of the state.
__device__ inline void order_child(const BeamPieces& pieces, const BeamState& state, int count,
                                   std::uint32_t slice, std::uint32_t* order) {
  if (slice == kNoSlice) {
#pragma unroll 1
    for (int i = lane_index(); i < count; i += kWarpSize) order[i] = state.pieces[state.by_cost[i]];
    return;
  }
  const std::uint32_t half = state.pieces[slice] + 1;
  Reordering<float> by_cost(slice, count, pieces.cost_ms[half]);
#pragma unroll 1
  for (int first = 0; first < count; first += kWarpSize) {
    const int i = first + lane_index();
    const std::uint32_t other = state.by_cost[min(i, count - 1)];
    const std::uint32_t piece = state.pieces[other];
    by_cost.take(i, i < count ? other : kNoSlice, pieces.cost_ms[piece],
                 [&](int position, std::uint32_t) { order[position] = piece; });
  }
  by_cost.finish([&](int position, std::uint32_t) { order[position] = half; });
}

/// Makes `to` of `from` by halving `slice`. `count`: slices of `from`; `splits`: its splits.
__device__ inline void split_state(const BeamPieces& pieces, const BeamState& from, int count,
                                   int splits, std::uint32_t slice, const BeamState& to) {
  const std::uint32_t piece = from.pieces[slice];
  const std::uint32_t half = piece + 1;
  Reordering<float> by_cost(slice, count, pieces.cost_ms[half]);
  Reordering<std::int64_t> by_size(slice, count, pieces.pieces[half].size_bytes);
  const auto store_by_cost = [&](int position, std::uint32_t other) {
    to.by_cost[position] = other;
  };
  const auto store_by_size = [&](int position, std::uint32_t other) {
    to.by_size[position] = other;
  };
  // Both at once: neither waits for the other.
#pragma unroll 1
  for (int first = 0; first < count; first += kWarpSize) {
    const int i = first + lane_index();
    // Lanes beyond the last slice read that one again.
    const bool is_slice = i < count;
    const int at = min(i, count - 1);
    const std::uint32_t costly = from.by_cost[at];
    const std::uint32_t large = from.by_size[at];
    const std::uint32_t other = from.pieces[at];
    const float cost_ms = pieces.cost_ms[from.pieces[costly]];
    const std::int64_t size = pieces.pieces[from.pieces[large]].size_bytes;
    if (is_slice) to.pieces[i] = at == static_cast<int>(slice) ? half : other;
    by_cost.take(i, is_slice ? costly : kNoSlice, cost_ms, store_by_cost);
    by_size.take(i, is_slice ? large : kNoSlice, size, store_by_size);
  }
  by_cost.finish(store_by_cost);
  by_size.finish(store_by_size);
  int before = 0;
#pragma unroll 1
  for (int first = 0; first < splits; first += kWarpSize) {
    const int i = first + lane_index();
    const std::uint32_t halved = i < splits ? from.halved[i] : 0;
    const bool moves = i < splits && halved > piece;
    if (i < splits) {
      to.splits[i] = from.splits[i];
      to.halved[i + (moves ? 1 : 0)] = halved;
    }
    before += __popc(__ballot_sync(kAllLanes, i < splits && !moves));
  }
  if (lane_index() != 0) return;
  to.pieces[count] = half;
  to.splits[splits] = static_cast<std::int32_t>(slice);
  to.halved[before] = piece;
}

/// Spreads pieces over all numbers (the last steps of MurmurHash3), so that sums tell sets apart.
__device__ inline std::uint32_t key_of_piece(std::uint32_t piece) {
  std::uint32_t key = piece + 1;
  key = (key ^ key >> 16) * 0x85EBCA6BU;
  key = (key ^ key >> 13) * 0xC2B2AE35U;
  return key ^ key >> 16;
}

/// Whether two states have the same pieces once `piece_a` and `piece_b` are halved, too. Each has
/// `splits` behind it, from the same start. By one thread.
__device__ inline bool same_halved(const std::uint32_t* halved_a, std::uint32_t piece_a,
                                   const std::uint32_t* halved_b, std::uint32_t piece_b,
                                   int splits) {
  // Both lists are run through with the new piece where it belongs.
  bool same = true;
#pragma unroll 4
  for (int i = 0; i < splits; ++i) {
    const std::uint32_t a = halved_a[i];
    const std::uint32_t b = halved_b[i];
    same = same & (min(a, piece_a) == min(b, piece_b));
    piece_a = max(a, piece_a);
    piece_b = max(b, piece_b);
  }
  return same && piece_a == piece_b;
}

/// Lists state number `number` with one of the slices halved that are worth it, in the order of
/// slices: of the costliest and of the largest, those that may be. Returns how many; the other
/// children up to `most` become kNoChild. `count`: slices of the state; `wanted`: costliest ones,
/// and as many largest; `key`: of the pieces halved so far; `marks`: [count], scratch. The warp may
/// have written the state just now.
__device__ inline int children_to_try(const BeamPieces& pieces, const BeamState& state, int number,
                                      int count, int wanted, std::uint32_t key, int most,
                                      std::uint32_t* marks, BeamChild* children,
                                      std::uint32_t* keys) {
#pragma unroll 1
  for (int i = lane_index(); i < count; i += kWarpSize) marks[i] = 0;
  __syncwarp();
#pragma unroll 1
  for (int i = lane_index(); i < min(count, wanted); i += kWarpSize) marks[state.by_cost[i]] = 1;
  __syncwarp();
#pragma unroll 1
  for (int i = lane_index(); i < min(count, wanted); i += kWarpSize) marks[state.by_size[i]] = 1;
  __syncwarp();
  int found = 0;
#pragma unroll 1
  for (int first = 0; first < count; first += kWarpSize) {
    const int i = first + lane_index();
    const int slice = min(i, count - 1);
    const std::uint32_t piece = state.pieces[slice];
    const bool chosen = (i < count) & (marks[slice] != 0) & (pieces.may_halve[piece] != 0);
    const unsigned votes = __ballot_sync(kAllLanes, chosen);
    if (chosen) {
      const int at = found + __popc(votes & lower_lanes());
      keys[at] = key + key_of_piece(piece);
      children[at] = {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(i), piece,
                      key + key_of_piece(piece)};
    }
    found += __popc(votes);
  }
#pragma unroll 1
  for (int i = found + lane_index(); i < most; i += kWarpSize) {
    children[i].state = kNoChild;
    keys[i] = key;  // No child's: one that was here before might be equal to that of a later one.
  }
  return found;
}

/// Costs as numbers whose order is theirs, -0 like 0. Never kNotPriced.
__device__ inline std::uint64_t order_of_cost(double cost_ms) { return order_of(cost_ms + 0.0); }

/// The costs of a level's children in the order of costs, by one warp. Each lane keeps those of two
/// candidates in registers: few levels have more than 64.
class CostOrder {
 public:
  /// Orders candidates [1, count).
  __device__ CostOrder(const PricedChild* priced, int count) : priced_(priced), count_(count) {
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const int c = 1 + lane_index() + k * kWarpSize;
      kept_[k] = c < count ? priced[c].order : kNotPriced;
    }
  }

  /// The cheapest one, then the next; of equal ones the first. -1: there are no more.
  [[nodiscard]] __device__ int next() {
    std::uint64_t lowest = kNotPriced;
    int index = -1;
    // Not && and ||, of which the compiler makes branches.
    const auto look_at = [&](int c, std::uint64_t order) {
      const bool later = (last_ < 0) | (order > order_) | ((order == order_) & (c > last_));
      const bool lower = later & (order < lowest);
      lowest = lower ? order : lowest;
      index = lower ? c : index;
    };
#pragma unroll
    for (int k = 0; k < kKept; ++k) look_at(1 + lane_index() + k * kWarpSize, kept_[k]);
#pragma unroll 1
    for (int c = 1 + lane_index() + kKept * kWarpSize; c < count_; c += kWarpSize) {
      look_at(c, priced_[c].order);
    }
    order_ = warp_min(lowest);
    // -1 is the largest of all.
    last_ = static_cast<int>(__reduce_min_sync(
        kAllLanes, lowest == order_ ? static_cast<unsigned>(index) : 0xFFFFFFFFU));
    return last_;
  }

 private:
  static constexpr int kKept = 2;

  const PricedChild* priced_;
  int count_;
  std::uint64_t kept_[kKept];
  std::uint64_t order_ = 0;  ///< Order of the last one.
  int last_ = -1;
};

}  // namespace neuroshard::gpu
