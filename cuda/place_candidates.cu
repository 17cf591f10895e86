#include "cuda/final_costs.cuh"
#include "cuda/heads.cuh"
#include "cuda/launch.h"
#include "cuda/place_candidates.h"
#include "cuda/place_greedily.cuh"

namespace neuroshard::gpu {
namespace {

__device__ WarpMemory warp_memory(std::byte* shared, const PlacementLayout& layout,
                                  const PlacementShape& shape) {
  std::byte* warp = shared + layout.warps + warp_index() * layout.warp_bytes;
  return {reinterpret_cast<float*>(warp),
          warp + layout.devices,
          reinterpret_cast<PendingRun*>(warp + layout.pending),
          warp + layout.snapshots,
          layout.snapshot_bytes,
          shape.snapshots};
}

// Lowest cost of the slot's placements, lowest limit on ties. By one warp.
__device__ void store_best(const RowTag* tags, int count, int slot, unsigned heads,
                           ResultView* result) {
  double cost_ms = __uint_as_float(0x7F800000U);
  int limit = -1;
  unsigned placements = 0;
  for (int row = lane_index(); row < count; row += kWarpSize) {
    const RowTag tag = tags[row];
    if (tag.slot != slot) continue;
    ++placements;
    if (tag.cost_ms < cost_ms || (tag.cost_ms == cost_ms && limit >= 0 && tag.limit < limit)) {
      cost_ms = tag.cost_ms;
      limit = tag.limit;
    }
  }
  const double lowest = warp_min(cost_ms);
  const bool found = limit >= 0 && cost_ms == lowest;
  // The lowest limit of all that reach the lowest cost; -1, the largest number, if there is none.
  const unsigned first = __reduce_min_sync(kAllLanes, found ? static_cast<unsigned>(limit) : ~0U);
  placements = __reduce_add_sync(kAllLanes, placements);
  if (lane_index() != 0) return;
  *result = {lowest, static_cast<std::int32_t>(first), heads, placements, 0};
}

// One launch places candidates from start to end. A block holds a few candidates of one task;
// a warp runs greedy placements one after the other (place_greedily.cuh), with the weights of the
// head in registers and the devices in registers or shared memory. Then the block runs the
// communication networks for all placements that its warps finished, and keeps the best of each
// candidate. Bound by the latency of the chain of steps if there are few candidates, by fp32 issue
// if there are many. Nothing but the finished placements (L2) and one result per candidate leaves
// the multiprocessor.
template <class Head, class Devices>
__global__ void __launch_bounds__(kMaxPlacementWarps* kWarpSize, 1)
    place_candidates_kernel(const PlacementArgs args) {
  const PlacementShape& shape = args.shape;
  std::byte* shared = dynamic_shared_memory();
  const PlacementLayout layout = placement_layout(shape, comm_bytes(shape));
  auto* tags = reinterpret_cast<RowTag*>(shared);
  auto* row_count = reinterpret_cast<int*>(shared + layout.row_count);
  auto* head_counts = reinterpret_cast<unsigned*>(shared + layout.head_counts);
  const CandidateSlot* slots =
      args.slots + static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(shape.slots);
  const SessionView& session = *slots[0].session;
  const RowArrays rows =
      row_arrays(args.rows + static_cast<std::size_t>(blockIdx.x) * kRowArrays *
                                 static_cast<std::size_t>(shape.rows() * shape.devices),
                 shape.rows(), session.devices);

  if (threadIdx.x == 0) *row_count = 0;
  if (static_cast<int>(threadIdx.x) < shape.slots) head_counts[threadIdx.x] = 0;
  __syncthreads();

  const int slot = warp_index() / shape.warps_per_slot;
  const int warp_of_slot = warp_index() % shape.warps_per_slot;
  const int first_limit = warp_of_slot * session.limits / shape.warps_per_slot;
  const int end_limit = (warp_of_slot + 1) * session.limits / shape.warps_per_slot;
  const CandidateSlot candidate = slots[slot];
  if (candidate.result != kNoCandidate && first_limit < end_limit) {
    const WarpMemory memory = warp_memory(shared, layout, shape);
    const Head head(args.head, shape.width,
                    reinterpret_cast<float*>(shared + layout.warps +
                                             warp_index() * layout.warp_bytes + layout.scratch));
    const PlacementRun run{session.pieces,
                           session.embeddings,
                           session.dim_limits,
                           session.memory_bytes,
                           session.devices,
                           shape.width,
                           args.piece_ids + candidate.first_piece,
                           static_cast<int>(candidate.pieces),
                           first_limit,
                           end_limit - 1};
    const auto finished = [&](const Devices& devices, int limit) {
      int row = 0;
      if (lane_index() == 0) row = atomicAdd(row_count, 1);
      row = __shfl_sync(kAllLanes, row, 0);
      if (lane_index() == 0) tags[row] = {0.0, slot, limit};
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * session.devices;
      devices.for_each([&](int device, float cost_ms, int dim_sum) {
        rows.dim_sums[at + device] = static_cast<float>(dim_sum);
        // An empty device counts 0 while placing, but head(0) in the end.
        rows.compute_ms[at + device] = dim_sum == 0 ? args.empty_ms : cost_ms;
      });
    };
    const unsigned heads = place_greedily<Head, Devices>(run, head, memory, finished);
    if (lane_index() == 0) atomicAdd(&head_counts[slot], heads);
  }
  __syncthreads();

  // The warps' memory is free now.
  const CommTile tile =
      comm_tile(shared + layout.warps, shape.comm_width, shape.comm_rows, shape.comm_weight_bytes);
  const int count = *row_count;
  final_costs(session, rows, count, tile, tags);

  for (int s = warp_index(); s < shape.slots; s += warps_in_block()) {
    const std::uint32_t result = slots[s].result;
    if (result != kNoCandidate) store_best(tags, count, s, head_counts[s], args.results + result);
  }
}

using Kernel = void (*)(PlacementArgs);

template <class Head>
Kernel kernel_for(bool many_devices) {
  return many_devices ? place_candidates_kernel<Head, SharedDevices>
                      : place_candidates_kernel<Head, LaneDevices>;
}

Kernel kernel_for(bool in_registers, bool many_devices) {
  return in_registers ? kernel_for<PublishedHead>(many_devices)
                      : kernel_for<GenericHead>(many_devices);
}

}  // namespace

bool fits_registers(const MlpView& head, int width) {
  return width == kPublishedEmbedding && head.count == 2 && head.inputs == kPublishedEmbedding &&
         head.width == kPublishedHeadHidden;
}

std::size_t placement_shared_bytes(const PlacementShape& shape) {
  return placement_layout(shape, comm_bytes(shape)).total;
}

void place_candidates(const PlacementArgs& args, unsigned blocks, cudaStream_t stream) {
  const PlacementShape& shape = args.shape;
  const bool in_registers = fits_registers(args.head, shape.width);
  launch(kernel_for(in_registers, shape.many_devices),
         {blocks, static_cast<unsigned>(shape.warps()) * kWarpSize, placement_shared_bytes(shape)},
         stream, args);
}

void prepare_place_candidates(std::size_t max_shared_bytes) {
  for (const bool in_registers : {false, true}) {
    for (const bool many_devices : {false, true}) {
      allow_shared_memory(kernel_for(in_registers, many_devices), max_shared_bytes);
    }
  }
}

}  // namespace neuroshard::gpu
