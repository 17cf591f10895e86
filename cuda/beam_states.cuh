#pragma once

#include "cuda/beam_views.h"
#include "cuda/warp.cuh"

namespace neuroshard::gpu {

/// States of column splits, as search/split_state.h has them; each function by one warp.
struct BeamState {
  std::uint32_t* pieces;   ///< Of each slice.
  std::uint32_t* by_cost;  ///< Slices in the order of placement: costliest first.
  std::uint32_t* by_size;  ///< Largest first. Of equal slices in either the later one goes first.
  std::int32_t* splits;
  std::uint32_t* halved;  ///< Pieces that were halved, ascending.
};

/// Of the beam that the candidates of `level` come from, or will come from.
__device__ inline BeamState state_of(const BeamView& beam, const BeamLayout& layout, int level,
                                     int state) {
  std::byte* at = beam.memory + (level % 2 * beam.sizes.width + state) * layout.state_bytes;
  return {reinterpret_cast<std::uint32_t*>(at),
          reinterpret_cast<std::uint32_t*>(at + layout.by_cost),
          reinterpret_cast<std::uint32_t*>(at + layout.by_size),
          reinterpret_cast<std::int32_t*>(at + layout.splits),
          reinterpret_cast<std::uint32_t*>(at + layout.halved)};
}

/// The lanes before this one.
__device__ inline unsigned lower_lanes() { return (1U << lane_index()) - 1U; }

/// An order of `count` slices once `slice` is halved: it keeps its index, its other half gets index
/// `count`. Both have the key of the piece after its own. Calls store(position, slice) for each.
template <typename KeyOf, typename Store>
__device__ void reorder(const std::uint32_t* order, const std::uint32_t* pieces, int count,
                        std::uint32_t slice, const KeyOf& key_of, const Store& store) {
  const auto half_key = key_of(pieces[slice] + 1);
  bool behind_slice = false;
  int before_appended = 0;
  int before_kept = 0;
  for (int first = 0; first < count; first += kWarpSize) {
    const int i = first + lane_index();
    const std::uint32_t other = i < count ? order[i] : kNoSlice;
    const unsigned found = __ballot_sync(kAllLanes, other == slice);
    const bool stays = i < count && other != slice;
    const auto key = stays ? key_of(pieces[other]) : half_key;
    // The appended half has the highest index, so it goes first among equals.
    const bool first_of_all = stays && key > half_key;
    const bool before = first_of_all || (stays && key == half_key && other > slice);
    if (stays) {
      const bool moved_up = behind_slice || (found & lower_lanes()) != 0;
      store(i - (moved_up ? 1 : 0) + (first_of_all ? 0 : 1) + (before ? 0 : 1), other);
    }
    before_appended += __popc(__ballot_sync(kAllLanes, first_of_all));
    before_kept += __popc(__ballot_sync(kAllLanes, before));
    behind_slice = behind_slice || found != 0;
  }
  if (lane_index() != 0) return;
  store(before_appended, static_cast<std::uint32_t>(count));
  store(before_kept + 1, slice);
}

/// Pieces of a child in the order of placement. `count`: slices of the state.
__device__ inline void order_child(const BeamView& beam, const BeamState& state, int count,
                                   std::uint32_t slice, std::uint32_t* order) {
  if (slice == kNoSlice) {
    for (int i = lane_index(); i < count; i += kWarpSize) order[i] = state.pieces[state.by_cost[i]];
    return;
  }
  reorder(
      state.by_cost, state.pieces, count, slice,
      [&](std::uint32_t piece) { return read_only(beam.piece_cost_ms + piece); },
      [&](int position, std::uint32_t other) {
        const bool half = other == slice || static_cast<int>(other) == count;
        order[position] = half ? state.pieces[slice] + 1 : state.pieces[other];
      });
}

/// Makes `to` of `from` by halving `slice`. `count`: slices of `from`; `splits`: its splits.
__device__ inline void split_state(const BeamView& beam, const BeamState& from, int count,
                                   int splits, std::uint32_t slice, const BeamState& to) {
  reorder(
      from.by_cost, from.pieces, count, slice,
      [&](std::uint32_t piece) { return read_only(beam.piece_cost_ms + piece); },
      [&](int position, std::uint32_t other) { to.by_cost[position] = other; });
  const PieceView* pieces = beam.session->pieces;
  reorder(
      from.by_size, from.pieces, count, slice,
      [&](std::uint32_t piece) { return read_only(&pieces[piece].size_bytes); },
      [&](int position, std::uint32_t other) { to.by_size[position] = other; });
  const std::uint32_t half = from.pieces[slice] + 1;
  for (int i = lane_index(); i <= count; i += kWarpSize) {
    const bool is_half = i == count || i == static_cast<int>(slice);
    to.pieces[i] = is_half ? half : from.pieces[i];
  }
  const std::uint32_t piece = from.pieces[slice];
  int before = 0;
  for (int first = 0; first < splits; first += kWarpSize) {
    const int i = first + lane_index();
    const bool moves = i < splits && from.halved[i] > piece;
    if (i < splits) {
      to.splits[i] = from.splits[i];
      to.halved[i + (moves ? 1 : 0)] = from.halved[i];
    }
    before += __popc(__ballot_sync(kAllLanes, i < splits && !moves));
  }
  if (lane_index() != 0) return;
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
    same = same && min(a, piece_a) == min(b, piece_b);
    piece_a = max(a, piece_a);
    piece_b = max(b, piece_b);
  }
  return same && piece_a == piece_b;
}

/// State number `number` with one of the slices halved that are worth it, in the order of slices:
/// of the costliest and of the largest, those that may be. Returns how many. `count`: slices of the
/// state; `splits`: its splits; `marks`: [count], scratch. The warp may have written the state just
/// now.
__device__ inline int children_to_try(const BeamView& beam, const BeamState& state, int number,
                                      int count, int splits, std::uint32_t* marks,
                                      BeamChild* tried) {
  const int wanted = min(count, beam.sizes.candidates);
  for (int i = lane_index(); i < count; i += kWarpSize) marks[i] = 0;
  __syncwarp();
  for (int i = lane_index(); i < wanted; i += kWarpSize) marks[state.by_cost[i]] = 1;
  __syncwarp();
  for (int i = lane_index(); i < wanted; i += kWarpSize) marks[state.by_size[i]] = 1;
  std::uint32_t key = 0;
  for (int i = lane_index(); i < splits; i += kWarpSize) key += key_of_piece(state.halved[i]);
  key = __reduce_add_sync(kAllLanes, key);
  __syncwarp();
  int found = 0;
  for (int first = 0; first < count; first += kWarpSize) {
    const int i = first + lane_index();
    const std::uint32_t piece = i < count ? state.pieces[i] : 0;
    const bool chosen = i < count && marks[i] != 0 && read_only(beam.may_halve + piece) != 0;
    const unsigned votes = __ballot_sync(kAllLanes, chosen);
    if (chosen) {
      tried[found + __popc(votes & lower_lanes())] = {static_cast<std::uint32_t>(number),
                                                      static_cast<std::uint32_t>(i), piece,
                                                      key + key_of_piece(piece)};
    }
    found += __popc(votes);
  }
  return found;
}

/// The candidate that comes after (after_ms, after) in the order of costs, the first one among
/// equals; of candidates [first, count). `after` -1: the cheapest. -1: there is none.
__device__ inline int next_cheapest(const ResultView* results, int first, int count,
                                    double after_ms, int after) {
  double lowest = __uint_as_float(0x7F800000U);
  int index = -1;
  for (int c = first + lane_index(); c < count; c += kWarpSize) {
    const double cost_ms = results[c].cost_ms;
    const bool later = after < 0 || cost_ms > after_ms || (cost_ms == after_ms && c > after);
    if (later && (index < 0 || cost_ms < lowest)) {
      lowest = cost_ms;
      index = c;
    }
  }
  const bool tied = lowest == warp_min(lowest);
  return static_cast<int>(
      __reduce_min_sync(kAllLanes, index >= 0 && tied ? static_cast<unsigned>(index) : ~0U));
}

}  // namespace neuroshard::gpu
