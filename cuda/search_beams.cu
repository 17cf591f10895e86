#include "cuda/beam_states.cuh"
#include "cuda/between_blocks.cuh"
#include "cuda/launch.h"
#include "cuda/place_block.cuh"
#include "cuda/place_candidates.h"
#include "cuda/search_beams.h"

namespace neuroshard::gpu {
namespace {

/// What thread 0 tells its block, in shared memory.
struct Control {
  unsigned item;
  unsigned place;  ///< Of the item.
  unsigned level_done;
  unsigned multiprocessor;
  unsigned placed[kMostCompared / kWarpSize];  ///< A bit for each candidate of a level.
  unsigned keys[kMostCompared];                ///< BeamChild::key of each.
};
static_assert(sizeof(Control) == kControlBytes);

/// A beam search in the hands of one block. Every function is for the whole block, if it does not
/// say otherwise.
class BeamBlock {
 public:
  __device__ BeamBlock(const BeamArgs& args, Control& control)
      : beam_(args.beams[blockIdx.x % args.count]), args_(args), control_(control) {}

  /// The next item to place, or kSearchOver. By one thread. Items are taken before they are
  /// published, by one block of each multiprocessor: so those of a level are on as many of these as
  /// can be. The other blocks take what is left of a level.
  [[nodiscard]] __device__ unsigned take_item() const {
    control_.multiprocessor = multiprocessor_index() % kMostMultiprocessors;
    unsigned* holders = &progress().holders[control_.multiprocessor];
    while (atomicCAS(holders, 0U, 1U) != 0) {
      const unsigned published = atomicAdd(&progress().published, 0U);
      if (published == kSearchOver) return kSearchOver;
      if (atomicAdd(&progress().next_item, 0U) < published) {
        atomicAdd(holders, 1U);
        break;
      }
      __nanosleep(400);
    }
    const unsigned item = atomicAdd(&progress().next_item, 1U);
    if (item == 0) return 0;  // Published by who took it.
    return wait_above(&progress().published, item) == kSearchOver ? kSearchOver : item;
  }

  /// Whether with this item all of the level are complete. By one thread.
  [[nodiscard]] __device__ bool complete_item() const {
    const unsigned end =
        progress().end_item;  // Once this item counts, another block may change it.
    atomicAdd(&progress().holders[control_.multiprocessor], ~0U);  // One less.
    const bool done = publish_add(&progress().completed, 1) + 1 == end;
    acquire();
    return done;
  }

  /// The first state goes out with its children: which these are does not depend on its cost. By
  /// the block that took the first item. Ends with a barrier.
  __device__ void begin() const {
    const int slices = beam_.sizes.slices;
    const BeamState start = state_of(beam_, layout(), 0, 0);
    for (int i = static_cast<int>(threadIdx.x); i < slices; i += static_cast<int>(blockDim.x)) {
      start.pieces[i] = read_only(beam_.start + i);
      start.by_cost[i] = read_only(beam_.start + slices + i);
      start.by_size[i] = read_only(beam_.start + 2 * slices + i);
    }
    __syncthreads();
    if (warp_index() == 0) {
      if (beam_.sizes.max_splits > 0) try_slices(start, 0, slices, 0);
      if (lane_index() == 0) children()[0] = {0, kNoSlice};
    }
    __syncthreads();
    go_on(0, 1, beam_.sizes.max_splits > 0 ? 1 : 0);
    __syncthreads();
  }

  /// All candidates of the level are placed: keeps the cheapest, and goes on to their children.
  __device__ void advance() const {
    const int level = progress().level;
    if (warp_index() == 0) choose(level);
    __syncthreads();
    const int states = level + 1 < beam_.sizes.max_splits ? progress().states : 0;
    const int slices = beam_.sizes.slices + level;
    for (int s = warp_index(); s < states; s += warps_in_block()) {
      const BeamChild child = children()[words(layout().chosen)[s]];
      const BeamState state = state_of(beam_, layout(), level + 1, s);
      split_state(beam_, state_of(beam_, layout(), level, static_cast<int>(child.state)), slices,
                  level, child.slice, state);
      try_slices(state, s, slices + 1, level + 1);
    }
    __syncthreads();
    go_on(level + 1, 0, states);
  }

  /// Where an item has its slots and so on. Those of a level do not meet.
  [[nodiscard]] __device__ unsigned place_of(unsigned item) const {
    return blockIdx.x % args_.count * args_.most_items + item - progress().first_item;
  }

  /// Lists the candidates of an item, for place_block.
  __device__ void fill_slots(unsigned item) const {
    const int slots = args_.placement.shape.slots;
    const int parts = args_.placement.shape.parts;
    const int first = static_cast<int>(item - progress().first_item) * slots;
    const int level = progress().level;
    const int slices = beam_.sizes.slices + level;
    for (int s = warp_index(); s < slots; s += warps_in_block()) {
      const unsigned at = place_of(item) * static_cast<unsigned>(slots) + static_cast<unsigned>(s);
      const std::uint32_t order = at * args_.most_slices;
      const int candidate = (first + s) / parts;
      const int part = (first + s) % parts;
      CandidateSlot slot{.session = beam_.session};
      if (candidate < progress().placed) {
        const PlacedChild child = placed()[candidate];
        order_child(beam_, state_of(beam_, layout(), level, static_cast<int>(child.state)), slices,
                    child.slice, args_.piece_ids + order);
        slot.first_piece = order;
        slot.pieces = static_cast<std::uint32_t>(slices + (child.slice == kNoSlice ? 0 : 1));
        slot.result = result_of(part, static_cast<int>(child.candidate));
        slot.part = static_cast<std::uint32_t>(part);
      }
      if (lane_index() == 0) args_.slots[at] = slot;
    }
  }

 private:
  [[nodiscard]] __device__ BeamProgress& progress() const { return *beam_.progress; }
  [[nodiscard]] __device__ BeamChild* children() const {
    return reinterpret_cast<BeamChild*>(beam_.memory + layout().children);
  }
  [[nodiscard]] __device__ PlacedChild* placed() const {
    return reinterpret_cast<PlacedChild*>(beam_.memory + layout().placed);
  }
  // Computed where it is used: it would take 24 registers.
  [[nodiscard]] __device__ BeamLayout layout() const { return beam_layout(beam_.sizes); }
  [[nodiscard]] __device__ std::uint32_t* words(std::size_t offset) const {
    return reinterpret_cast<std::uint32_t*>(beam_.memory + offset);
  }
  [[nodiscard]] __device__ BeamChild* tried_of(int state) const {
    return reinterpret_cast<BeamChild*>(beam_.memory + layout().tried) +
           state * beam_.sizes.most_children();
  }

  // Of state number `s`, by one warp.
  __device__ void try_slices(const BeamState& state, int s, int slices, int splits) const {
    const int tried =
        children_to_try(beam_, state, s, slices, splits,
                        words(layout().marks) + s * beam_.sizes.most_slices(), tried_of(s));
    if (lane_index() == 0) words(layout().counts)[s] = static_cast<std::uint32_t>(tried);
  }

  [[nodiscard]] __device__ std::uint32_t result_of(int part, int candidate) const {
    return beam_.first_result +
           static_cast<std::uint32_t>(part) *
               static_cast<std::uint32_t>(beam_.sizes.most_candidates()) +
           static_cast<std::uint32_t>(candidate);
  }

  // The children that the next beam consists of, and the best state so far. By one warp.
  __device__ void choose(int level) const {
    const int count = progress().candidates;
    auto* results = reinterpret_cast<ResultView*>(beam_.memory + layout().results);
    std::int64_t heads = 0;
    std::int64_t comms = 0;
    for (int c = lane_index(); c < count; c += kWarpSize) {
      const auto same = static_cast<int>(words(layout().same_as)[c]);
      ResultView best;
      for (int part = 0; part < args_.placement.shape.parts; ++part) {
        const ResultView& other = args_.placement.results[result_of(part, same)];
        heads += same == c ? other.head_evaluations : 0;
        comms += same == c ? other.comm_evaluations : 0;
        // The first part has the lowest limits, which win ties.
        if (part == 0 || other.cost_ms < best.cost_ms) best = other;
      }
      results[c] = best;
    }
    heads = warp_sum(heads);
    comms = warp_sum(comms);
    __syncwarp();
    int states = 0;
    int cheapest = -1;
    int last = -1;
    for (; states < beam_.sizes.width; ++states) {
      last = next_cheapest(results, level == 0 ? 1 : 0, count,
                           last < 0 ? 0.0 : results[last].cost_ms, last);
      if (last < 0) break;
      if (states == 0) cheapest = last;
      if (lane_index() == 0) words(layout().chosen)[states] = static_cast<std::uint32_t>(last);
    }
    int improves = 0;
    if (lane_index() == 0) {
      progress().states = states;
      progress().examined += static_cast<std::uint64_t>(count);
      progress().head_evaluations += static_cast<std::uint64_t>(heads);
      progress().comm_evaluations += static_cast<std::uint64_t>(comms);
      if (level == 0) {
        progress().best_ms = results[0].cost_ms;
        progress().best_limit = results[0].limit;
      }
      if (cheapest >= 0 && results[cheapest].cost_ms < progress().best_ms) {
        improves = 1;
        progress().best_ms = results[cheapest].cost_ms;
        progress().best_limit = results[cheapest].limit;
        progress().best_splits = level + 1;
      }
    }
    if (__shfl_sync(kAllLanes, improves, 0) == 0) return;
    const BeamChild child = children()[cheapest];
    const BeamState state = state_of(beam_, layout(), level, static_cast<int>(child.state));
    for (int i = lane_index(); i <= level; i += kWarpSize) {
      words(layout().best_splits)[i] =
          i == level ? child.slice : static_cast<std::uint32_t>(state.splits[i]);
    }
  }

  // Lists the children of `states` states behind `first` candidates that are there, and lets all
  // blocks place the candidates of `level`, or ends the search if there are none.
  __device__ void go_on(int level, int first, int states) const {
    const unsigned count = lane_index() < states ? words(layout().counts)[lane_index()] : 0U;
    const int total = first + static_cast<int>(__reduce_add_sync(kAllLanes, count));
    for (int s = warp_index(); s < states; s += warps_in_block()) {
      const unsigned before = __reduce_add_sync(kAllLanes, lane_index() < s ? count : 0U);
      const int tried = static_cast<int>(__shfl_sync(kAllLanes, count, s));
      for (int i = lane_index(); i < tried; i += kWarpSize) {
        const int at = first + static_cast<int>(before) + i;
        const BeamChild child = tried_of(s)[i];
        children()[at] = child;
        if (at < kMostCompared) control_.keys[at] = child.key;
      }
    }
    __syncthreads();
    const int to_place = list_placed(level, first, total);
    __syncthreads();
    if (total == 0 && warp_index() == 0) write_result();
    if (threadIdx.x != 0) return;
    if (total == 0) {
      publish_add(&progress().published, kSearchOver - progress().end_item);
      return;
    }
    const int slots = args_.placement.shape.slots;
    const int of_slots = to_place * args_.placement.shape.parts;
    const auto items = static_cast<unsigned>((of_slots + slots - 1) / slots);
    progress().level = level;
    progress().candidates = total;
    progress().placed = to_place;
    progress().first_item = progress().end_item;
    progress().end_item += items;
    publish_add(&progress().published, items);
  }

  // The first of candidates [first, c] that has the same pieces as c. By one thread.
  [[nodiscard]] __device__ int first_same(int level, int first, int c) const {
    int same = c;
#pragma unroll 8
    for (int other = c - 1; other >= first; --other) {
      same = control_.keys[other] == control_.keys[c] ? other : same;
    }
    if (same == c) return c;
    const BeamChild child = children()[c];
    const BeamChild other = children()[same];
    const auto halved = [&](const BeamChild& of) {
      return state_of(beam_, layout(), level, static_cast<int>(of.state)).halved;
    };
    return same_halved(halved(child), child.piece, halved(other), other.piece, level) ? same : c;
  }

  // Lists which of `total` candidates are placed: of those with the same pieces the first, but for
  // the `first` ones. Returns how many. Halving one slice and then another, or the other way round,
  // makes the same pieces, so that they are but some six in ten.
  __device__ int list_placed(int level, int first, int total) const {
    const bool merges = beam_.merges && total <= kMostCompared;
    const auto threads = static_cast<int>(blockDim.x);
    const int end = (total + kWarpSize - 1) / kWarpSize * kWarpSize;
    for (int c = static_cast<int>(threadIdx.x); c < end; c += threads) {
      const int same = merges && c >= first && c < total ? first_same(level, first, c) : c;
      if (c < total) words(layout().same_as)[c] = static_cast<std::uint32_t>(same);
      const unsigned chosen = __ballot_sync(kAllLanes, c < total && same == c);
      if (merges && lane_index() == 0) control_.placed[c / kWarpSize] = chosen;
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < total; c += threads) {
      int at = c;
      if (merges) {
        const unsigned chosen = control_.placed[c / kWarpSize];
        if ((chosen >> lane_index() & 1U) == 0) continue;
        at = placed_before(c / kWarpSize) + __popc(chosen & lower_lanes());
      }
      const BeamChild child = children()[c];
      placed()[at] = {child.state, child.slice, static_cast<std::uint32_t>(c), 0};
    }
    return merges ? placed_before(end / kWarpSize) : total;
  }

  [[nodiscard]] __device__ int placed_before(int word) const {
    int sum = 0;
    for (int i = 0; i < word; ++i) sum += __popc(control_.placed[i]);
    return sum;
  }

  // By one warp.
  __device__ void write_result() const {
    const int splits = progress().best_splits;
    for (int i = lane_index(); i < splits; i += kWarpSize) {
      beam_.splits[i] = static_cast<std::int32_t>(words(layout().best_splits)[i]);
    }
    if (lane_index() != 0) return;
    *beam_.result = {progress().best_ms,  progress().best_limit,       splits,
                     progress().examined, progress().head_evaluations, progress().comm_evaluations};
  }

  const BeamView& beam_;
  const BeamArgs& args_;
  Control& control_;
};

// Whole beam searches. A block takes the next item of its search, some candidates of a level, once
// it is published, and places them as place_candidates does. The searches take turns in the order
// of blocks, so that blocks that wait for one search do not keep out those of others. Whoever
// completes a level chooses the next beam, lists its children and publishes them. A block waits
// only for items that others took before it, so they are running: any number of blocks may be on
// the device at once, of any number of launches. Not a loop over items: the compiler would compute
// addresses before it, and spill. Bound by the latency of a level's longest placement if there are
// few searches, by fp32 issue if there are many.
template <class Head, class Devices>
__global__ void __launch_bounds__(kMaxPlacementWarps* kWarpSize, 1)
    search_beams_kernel(const __grid_constant__ BeamArgs args) {
  // Behind the memory of place_block.
  const PlacementShape& shape = args.placement.shape;
  auto* control = reinterpret_cast<Control*>(
      dynamic_shared_memory() + align_to_16(placement_layout(shape, comm_bytes(shape)).total));
  if (threadIdx.x == 0) control->item = BeamBlock(args, *control).take_item();
  __syncthreads();
  const unsigned item = control->item;
  if (item == kSearchOver) return;
  if (item == 0) BeamBlock(args, *control).begin();
  BeamBlock(args, *control).fill_slots(item);
  if (threadIdx.x == 0) control->place = BeamBlock(args, *control).place_of(item);
  __syncthreads();
  place_block<Head, Devices>(args.placement, [&] { return control->place; });
  __syncthreads();
  if (threadIdx.x == 0) control->level_done = BeamBlock(args, *control).complete_item() ? 1U : 0U;
  __syncthreads();
  if (control->level_done != 0) BeamBlock(args, *control).advance();
}

using Kernel = void (*)(BeamArgs);

template <class Head>
Kernel kernel_for(bool many_devices) {
  return many_devices ? search_beams_kernel<Head, SharedDevices>
                      : search_beams_kernel<Head, LaneDevices>;
}

Kernel kernel_for(bool in_registers, bool many_devices) {
  return in_registers ? kernel_for<PublishedHead>(many_devices)
                      : kernel_for<GenericHead>(many_devices);
}

}  // namespace

std::size_t beam_shared_bytes(const PlacementShape& shape) {
  return align_to_16(placement_shared_bytes(shape)) + sizeof(Control);
}

void search_beams(const BeamArgs& args, unsigned items, cudaStream_t stream) {
  const PlacementShape& shape = args.placement.shape;
  launch(kernel_for(fits_registers(args.placement.head, shape.width), shape.many_devices),
         {args.count * items, static_cast<unsigned>(shape.warps()) * kWarpSize,
          beam_shared_bytes(shape)},
         stream, args);
}

void prepare_search_beams(std::size_t max_shared_bytes) {
  for (const bool in_registers : {false, true}) {
    for (const bool many_devices : {false, true}) {
      allow_shared_memory(kernel_for(in_registers, many_devices), max_shared_bytes);
    }
  }
}

}  // namespace neuroshard::gpu
