#pragma once

#include "cuda/placement/beam_block.cuh"

namespace neuroshard::gpu {

/// Work between two levels of a beam search, by the block that completed the last one. Every
/// function is for the whole block, if it does not say otherwise.
template <bool kDesk>
class BeamLevels {
 public:
  __device__ explicit BeamLevels(const BeamBlock<kDesk>& block) : block_(block) {}

  /// The first state goes out with its children: which these are does not depend on its cost. By
  /// the block that took the first item.
  __device__ void begin() const {
    std::byte* level = block_.desk_level(0);
    const int slices = block_.beam().sizes.slices;
    const BeamState start = block_.state(level, 0);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < slices; i += static_cast<int>(blockDim.x)) {
      const std::uint32_t piece = read_only(block_.beam().start + i);
      const std::uint32_t costly = read_only(block_.beam().start + slices + i);
      const std::uint32_t large = read_only(block_.beam().start + 2 * slices + i);
      start.pieces[i] = piece;
      start.by_cost[i] = costly;
      start.by_size[i] = large;
    }
    if (threadIdx.x == 0) {
      block_.children(level)[0] = {0, kNoSlice};
      block_.control().end_item = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int s = warp_index(); s < block_.beam().sizes.width; s += warps_in_block()) {
      const bool tries = s == 0 && block_.beam().sizes.max_splits > 0;
      try_slices(level, s, tries ? slices : 0, 0);
    }
    __syncthreads();
    go_on(0);
  }

  /// All candidates of the level are placed: keeps the cheapest, and goes on to their children.
  /// Each warp finds the cheapest by itself, up to those that it splits.
  __device__ void advance() const {
    const int level = block_.control().level;
    const int warps = warps_in_block();
    const int width = block_.beam().sizes.width;
    const bool goes_on = level + 1 < block_.beam().sizes.max_splits;
    const int slices = block_.beam().sizes.slices + level;
    const auto count = static_cast<int>(block_.args().most_candidates);
    std::byte* from = block_.desk_level(level);
    std::byte* to = block_.desk_level(level + 1);
    price();
    __syncthreads();
    if (threadIdx.x == 0) block_.children(to)[0].state = kNoChild;
    CostOrder children_by_cost(block_.priced(), count);
    int own = warp_index();  // The next state of this warp.
    int last = 0;
#pragma unroll 1
    for (int s = 0; s < width; ++s) {
      if (last >= 0) last = children_by_cost.next();
      if (s != own) continue;
      own += warps;
      const bool splits = goes_on && last >= 0;
      std::uint32_t key = 0;
      if (splits) {
        const BeamChild child = block_.children(from)[last];
        key = child.key;
        split_state(block_.pieces(), block_.state(from, static_cast<int>(child.state)), slices,
                    level, child.slice, block_.state(to, s));
      }
      try_slices(to, s, splits ? slices + 1 : 0, key);
      if (s == 0) keep_best(last);
      if (own >= width) break;
    }
    __syncthreads();
    go_on(level + 1);
  }

 private:
  static constexpr unsigned kEvenLanes = 0x55555555U;

  // Tries the slices of state number `s` of a level, by one warp. No slices: it has no children.
  __device__ void try_slices(std::byte* level, int s, int slices, std::uint32_t key) const {
    const auto most = static_cast<int>(block_.args().most_children);
    const int first = 1 + s * most;
    const int tried =
        children_to_try(block_.pieces(), block_.state(level, s), s, slices,
                        block_.beam().sizes.candidates, key, most,
                        block_.words(block_.desk(), block_.args().layout.marks) +
                            s * static_cast<int>(block_.args().most_slices),
                        block_.children(level) + first,
                        block_.words(block_.desk(), block_.args().layout.keys) + first);
    if (lane_index() == 0) {
      block_.words(block_.desk(), block_.args().layout.counts)[s] =
          static_cast<std::uint32_t>(tried);
    }
  }

  // The costs of the level's candidates.
  __device__ void price() const {
    std::byte* level = block_.desk_level(block_.control().level);
    const auto count = static_cast<int>(block_.args().most_candidates);
    const int parts = block_.args().placement.shape.parts;
#pragma unroll 1
    for (int c = static_cast<int>(threadIdx.x); c < count; c += static_cast<int>(blockDim.x)) {
      PricedChild best{.order = kNotPriced};
      if (block_.children(level)[c].state != kNoChild) {
        const auto same = static_cast<int>(block_.words(level, block_.args().layout.same_as)[c]);
        // Results of all parts are loaded at once: else limits would be loaded where costs are
        // known to be lower.
        uint4 results[kMostParts];
#pragma unroll
        for (int part = 0; part < kMostParts; ++part) {
          const std::uint32_t result = block_.result_of(min(part, parts - 1), same);
          results[part] = *reinterpret_cast<const uint4*>(block_.args().placement.results + result);
        }
#pragma unroll
        for (int part = 0; part < kMostParts; ++part) {
          const std::uint64_t bits =
              static_cast<std::uint64_t>(results[part].y) << 32 | results[part].x;
          const double cost_ms = __longlong_as_double(static_cast<long long>(bits));
          // The first part has the lowest limits, which win ties.
          const bool lower = part == 0 || cost_ms < best.cost_ms;
          best.cost_ms = lower ? cost_ms : best.cost_ms;
          best.limit = lower ? static_cast<std::int32_t>(results[part].z) : best.limit;
        }
        best.order = order_of_cost(best.cost_ms);
      }
      block_.priced()[c] = best;
    }
  }

  // The best state so far; `cheapest`: of the level's children, or -1. By one warp, to the next
  // level in device memory.
  __device__ void keep_best(int cheapest) const {
    const int level = block_.control().level;
    std::byte* from = block_.desk_level(level);
    LevelHead best = block_.head(from);
    if (level == 0) {
      best.best_ms = block_.priced()[0].cost_ms;
      best.best_limit = block_.priced()[0].limit;
      best.best_splits = 0;
      best.examined = 0;
    }
    if (cheapest >= 0 && block_.priced()[cheapest].cost_ms < best.best_ms) {
      best.best_ms = block_.priced()[cheapest].cost_ms;
      best.best_limit = block_.priced()[cheapest].limit;
      best.best_splits = level + 1;
      const BeamChild child = block_.children(from)[cheapest];
      const BeamState parent = block_.state(from, static_cast<int>(child.state));
      std::uint32_t* splits = block_.words(block_.memory(), block_.args().layout.best_splits);
#pragma unroll 1
      for (int i = lane_index(); i <= level; i += kWarpSize) {
        splits[i] = i == level ? child.slice : static_cast<std::uint32_t>(parent.splits[i]);
      }
    }
    if (lane_index() != 0) return;
    LevelHead& next = block_.head(block_.published_level(level + 1));
    next.examined = best.examined + best.candidates;
    next.best_ms = best.best_ms;
    next.best_limit = best.best_limit;
    next.best_splits = best.best_splits;
  }

  // Lets all blocks place the candidates of `level`, whose states and children are on the desk, or
  // ends the search if there are none.
  __device__ void go_on(int level) const {
    const int width = block_.beam().sizes.width;
    const unsigned count =
        lane_index() < width
            ? block_.words(block_.desk(), block_.args().layout.counts)[lane_index()]
            : 0U;
    const unsigned total = __reduce_add_sync(kAllLanes, count) + (level == 0 ? 1U : 0U);
    if (total == 0) {
      if (warp_index() == 0) write_result(level);
      if (threadIdx.x != 0) return;
      publish_add(&block_.progress().published,
                  static_cast<unsigned long long>(kSearchOver - block_.control().end_item));
      return;
    }
    if constexpr (kDesk) {
      const auto* from = reinterpret_cast<const uint4*>(block_.desk_level(level));
      auto* to = reinterpret_cast<uint4*>(block_.published_level(level));
      const auto chunks = static_cast<int>(block_.args().layout.same_as / sizeof(uint4));
#pragma unroll 1
      for (int i = static_cast<int>(threadIdx.x); i < chunks; i += static_cast<int>(blockDim.x)) {
        to[i] = from[i];
      }
    }
    const unsigned to_place = list_placed(level);
    __syncthreads();
    if (threadIdx.x != 0) return;
    LevelHead& published = block_.head(block_.published_level(level));
    published.candidates = total;
    published.placed = to_place;
    const auto slots = static_cast<unsigned>(block_.args().placement.shape.slots);
    const unsigned of_slots = to_place * static_cast<unsigned>(block_.args().placement.shape.parts);
    const unsigned items = (of_slots + slots - 1) / slots;
    block_.control().end_item += items;
    const unsigned long long next_level = level == 0 ? 0ULL : 1ULL << 32;
    publish_add(&block_.progress().published, next_level + items);
  }

  // The first of candidates [1, c] with the key of c, or c. By a warp: two lanes side by side look
  // through half of the keys each. Keys of no candidate may be anything.
  [[nodiscard]] __device__ int first_with_key(int c) const {
    const std::uint32_t* keys = block_.words(block_.desk(), block_.args().layout.keys);
    const std::uint32_t key = keys[c];
    unsigned first_equal = 1;  // Bits of those that are equal, of 16 from `base` on.
    int base = c;
#pragma unroll 1
    for (int first = (c | 16) / 16 * 16 - 16 * (lane_index() % 2); first >= 0; first -= 32) {
      unsigned equal = 0;
#pragma unroll
      for (int i = 0; i < 16; i += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(keys + first + i);
        equal |= (four.x == key ? 1U : 0U) << i | (four.y == key ? 2U : 0U) << i |
                 (four.z == key ? 4U : 0U) << i | (four.w == key ? 8U : 0U) << i;
      }
      // Only those before c, and not the first state itself.
      equal &= first == 0 ? ~1U : ~0U;
      equal &= (1U << min(max(c - first, 0), 16)) - 1U;
      first_equal = equal != 0 ? equal : first_equal;
      base = equal != 0 ? first : base;
    }
    const int found = base + __ffs(first_equal) - 1;
    return min(found, __shfl_xor_sync(kAllLanes, found, 1));
  }

  // Whether two candidates, of which one may be none, have the same pieces. By one thread.
  [[nodiscard]] __device__ bool are_same(int level, int c, int other) const {
    std::byte* memory = block_.desk_level(level);
    const BeamChild a = block_.children(memory)[c];
    const BeamChild b = block_.children(memory)[other];
    if (b.state == kNoChild) return false;
    return same_halved(block_.state(memory, static_cast<int>(a.state)).halved, a.piece,
                       block_.state(memory, static_cast<int>(b.state)).halved, b.piece, level);
  }

  // Lists which candidates are placed: of those with the same pieces the first, but for the first
  // state itself. Returns how many. Halving one slice and then another, or the other way round,
  // makes the same pieces, so that they are but some six in ten. Two lanes a candidate.
  [[nodiscard]] __device__ unsigned list_placed(int level) const {
    const auto count = static_cast<int>(block_.args().most_candidates);
    const bool merges = block_.beam().merges && count <= kMostCompared;
    const int step = static_cast<int>(blockDim.x) / 2;
    const int first = static_cast<int>(threadIdx.x) / 2;
    const int end = (count + kCandidatesOfWarp - 1) / kCandidatesOfWarp * kCandidatesOfWarp;
    const BeamChild* of_level = block_.children(block_.desk_level(level));
    std::byte* published = block_.published_level(level);
#pragma unroll 1
    for (int c = first; c < end; c += step) {
      const bool is_child = c < count && of_level[c].state != kNoChild;
      int same = merges ? first_with_key(c) : c;
      if (c == 0 || !is_child || (same != c && !are_same(level, c, same))) same = c;
      if (c < count && lane_index() % 2 == 0) {
        block_.words(published, block_.args().layout.same_as)[c] = static_cast<std::uint32_t>(same);
      }
      const unsigned placed = __ballot_sync(kAllLanes, is_child && same == c) & kEvenLanes;
      if (lane_index() == 0) block_.control().placed[c / kCandidatesOfWarp] = placed;
    }
    __syncthreads();
#pragma unroll 1
    for (int c = first; c < end; c += step) {
      const unsigned placed = block_.control().placed[c / kCandidatesOfWarp];
      if ((placed >> lane_index() & 1U) == 0) continue;
      const unsigned at = placed_before(c / kCandidatesOfWarp) + __popc(placed & lower_lanes());
      block_.words(published, block_.args().layout.placed)[at] = static_cast<std::uint32_t>(c);
    }
    return placed_before(end / kCandidatesOfWarp);
  }

  [[nodiscard]] __device__ unsigned placed_before(int word) const {
    unsigned sum = 0;
#pragma unroll 1
    for (int i = 0; i < word; ++i) sum += static_cast<unsigned>(__popc(block_.control().placed[i]));
    return sum;
  }

  // By one warp.
  __device__ void write_result(int level) const {
    const LevelHead& best = block_.head(block_.published_level(level));
    const int splits = best.best_splits;
    const std::uint32_t* from = block_.words(block_.memory(), block_.args().layout.best_splits);
#pragma unroll 1
    for (int i = lane_index(); i < splits; i += kWarpSize) {
      block_.beam().splits[i] = static_cast<std::int32_t>(from[i]);
    }
    if (lane_index() != 0) return;
    *block_.beam().result = {best.best_ms,
                             best.best_limit,
                             splits,
                             best.examined,
                             block_.progress().head_evaluations,
                             block_.progress().comm_evaluations};
  }

  const BeamBlock<kDesk>& block_;
};

}  // namespace neuroshard::gpu
