#include "cuda/device/launch.h"
#include "cuda/placement/beam_levels.cuh"
#include "cuda/placement/place_block.cuh"
#include "cuda/placement/place_candidates.h"
#include "cuda/placement/search_beams.h"

namespace neuroshard::gpu {
namespace {

/// The next item to place, or kSearchOver. By one thread. Items are taken before they are
/// published, by one block of each multiprocessor: so those of a level are on as many of these as
/// can be. The other blocks take what is left of a level. The first item is published by who
/// takes it.
template <bool kDesk>
__device__ void take_item(const BeamBlock<kDesk>& block) {
  block.control().multiprocessor = multiprocessor_index() % kMostMultiprocessors;
  block.control().item = kSearchOver;
  unsigned* holders = &block.progress().holders[block.control().multiprocessor];
  while (atomicCAS(holders, 0U, 1U) != 0) {
    const auto published = static_cast<unsigned>(atomicAdd(&block.progress().published, 0ULL));
    if (published == kSearchOver) return;
    if (atomicAdd(&block.progress().next_item, 0U) < published) {
      atomicAdd(holders, 1U);
      break;
    }
    __nanosleep(400);
  }
  block.control().item = atomicAdd(&block.progress().next_item, 1U);
}

/// Waits until the item is published, or the search is over: `end_item` is then kSearchOver. By
/// one thread.
template <bool kDesk>
__device__ void wait_for_item(const BeamBlock<kDesk>& block) {
  const unsigned long long published =
      wait_above(&block.progress().published, block.control().item);
  // No later one is published before this item is complete.
  block.control().end_item = static_cast<unsigned>(published);
  block.control().level = static_cast<int>(published >> 32);
}

/// Whether with this item all of the level are complete. By one thread.
template <bool kDesk>
[[nodiscard]] __device__ bool complete_item(const BeamBlock<kDesk>& block) {
  const BlockCounts counts = counts_of_block(block.args().placement);
  atomicAdd(&block.progress().head_evaluations, static_cast<unsigned long long>(counts.heads));
  atomicAdd(&block.progress().comm_evaluations, static_cast<unsigned long long>(counts.placements));
  atomicAdd(&block.progress().holders[block.control().multiprocessor], ~0U);  // One less.
  const bool done = publish_add(&block.progress().completed, 1U) + 1 == block.control().end_item;
  if (done) acquire();
  return done;
}

/// Lists the candidates of the item, for place_block.
template <bool kDesk>
__device__ void fill_slots(const BeamBlock<kDesk>& block) {
  const int slots = block.args().placement.shape.slots;
  const int parts = block.args().placement.shape.parts;
  // Counted from the end: where the level's items begin is not known.
  const int first = static_cast<int>(block.control().end_item - 1 - block.control().item) * slots;
  std::byte* level = block.desk_level(block.control().level);
  const int slices = block.beam().sizes.slices + block.control().level;
#pragma unroll 1
  for (int s = warp_index(); s < slots; s += warps_in_block()) {
    const int candidate = (first + s) / parts;
    const int part = (first + s) % parts;
    CandidateSlot slot{};
    if (candidate < static_cast<int>(block.head(level).placed)) {
      const std::uint32_t number = block.words(level, block.args().layout.placed)[candidate];
      const BeamChild child = block.children(level)[number];
      slot.first_piece =
          block.first_order() + static_cast<std::uint32_t>(s) * block.args().most_slices;
      slot.pieces = static_cast<std::uint32_t>(slices + (child.slice == kNoSlice ? 0 : 1));
      slot.result = block.result_of(part, static_cast<int>(number));
      slot.part = static_cast<std::uint32_t>(part);
      order_child(block.pieces(), block.state(level, static_cast<int>(child.state)), slices,
                  child.slice, block.piece_ids() + slot.first_piece);
    }
    if (lane_index() == 0) block.control().slots[s] = slot;
  }
}

/// Work of the block's item, for place_block().
template <class Head, bool kDesk>
struct ItemWork {
  const BeamBlock<kDesk>& block;
  const Head& loaded_head;

  [[nodiscard]] __device__ const Head& head() const { return loaded_head; }
  [[nodiscard]] __device__ const CandidateSlot* slots() const { return block.control().slots; }
  [[nodiscard]] __device__ const SessionView& session() const { return block.control().session; }
  [[nodiscard]] __device__ const std::uint32_t* order(const CandidateSlot& slot) const {
    return block.piece_ids() + slot.first_piece;
  }
  [[nodiscard]] __device__ float* rows() const {
    const PlacementArgs& placement = block.args().placement;
    if (kDesk || placement.shape.rows_in_shared) return shared_rows(placement);
    return placement.rows + block.place() * (placement.shape.row_bytes() / sizeof(float));
  }
};

// Whole beam searches. A block takes the next item of its search, some candidates of a level, once
// it is published, and places them as place_candidates does. The searches take turns in the order
// of blocks, so that blocks that wait for one search do not keep out those of others. Whoever
// completes a level chooses the next beam, lists its children and publishes them. A block waits
// only for items that others took before it, so they are running: any number of blocks may be on
// the device at once, of any number of launches. Not a loop over items: the compiler would compute
// addresses before it, and spill. Bound by the latency of a level's longest placement if there are
// few searches, by fp32 issue if there are many.
template <class Head, class Devices, bool kDesk>
__global__ void __launch_bounds__(kMaxPlacementWarps* kWarpSize, 1)
    search_beams_kernel(const __grid_constant__ BeamArgs args) {
  auto* control = reinterpret_cast<BeamControl*>(dynamic_shared_memory() + args.control);
  const BeamBlock<kDesk> block(args, *control);
  if (!block.load()) return;
  if (threadIdx.x == 0) take_item(block);
  __syncthreads();
  if (control->item == kSearchOver) return;
  const BeamLevels<kDesk> levels(block);
  if (control->item == 0) levels.begin();
  // While the block waits, it loads what it needs then.
  const Head head = load_head<Head>(args.placement);
  start_copies_of_block(args.placement, block.control().session.comm);
  if (threadIdx.x == 0) wait_for_item(block);
  __syncthreads();
  if (control->end_item == kSearchOver) {
    __pipeline_wait_prior(0);
    return;
  }
  block.load_level();
  fill_slots(block);
  place_block<Head, Devices>(args.placement, ItemWork<Head, kDesk>{block, head});
  __syncthreads();
  if (threadIdx.x == 0) control->level_done = complete_item(block) ? 1U : 0U;
  __syncthreads();
  if (control->level_done != 0) levels.advance();
}

using Kernel = void (*)(BeamArgs);

template <class Head, class Devices>
Kernel kernel_with(bool desk) {
  return desk ? search_beams_kernel<Head, Devices, true>
              : search_beams_kernel<Head, Devices, false>;
}

template <class Head>
Kernel kernel_for(bool many_devices, bool desk) {
  return many_devices ? kernel_with<Head, SharedDevices>(desk)
                      : kernel_with<Head, LaneDevices>(desk);
}

Kernel kernel_for(bool in_registers, bool many_devices, bool desk) {
  return in_registers ? kernel_for<PublishedHead>(many_devices, desk)
                      : kernel_for<GenericHead>(many_devices, desk);
}

}  // namespace

void search_beams(const BeamArgs& args, unsigned items, cudaStream_t stream) {
  const PlacementShape& shape = args.placement.shape;
  BeamArgs all = args;
  all.placement = laid_out(args.placement);
  all.control = static_cast<std::uint32_t>(align_to_16(all.placement.layout.total));
  const auto desk = static_cast<std::uint32_t>(all.control + sizeof(BeamControl));
  for (std::uint32_t* offset : {&all.desk.beam, &all.desk.pieces, &all.desk.cost_ms,
                                &all.desk.may_halve, &all.desk.orders, &all.desk.total}) {
    *offset += desk;
  }
  launch(kernel_for(fits_registers(args.placement.head, shape.width), shape.many_devices,
                    args.desk.total > 0),
         {args.count * items, static_cast<unsigned>(shape.warps()) * kWarpSize, all.desk.total},
         stream, all);
}

void prepare_search_beams(std::size_t max_shared_bytes) {
  for (const bool in_registers : {false, true}) {
    for (const bool many_devices : {false, true}) {
      for (const bool desk : {false, true}) {
        allow_shared_memory(kernel_for(in_registers, many_devices, desk), max_shared_bytes);
      }
    }
  }
}

}  // namespace neuroshard::gpu
