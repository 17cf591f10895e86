#pragma once

#include "cuda/networks/heads.cuh"
#include "cuda/placement/final_costs.cuh"
#include "cuda/placement/place_greedily.cuh"

namespace neuroshard::gpu {

__device__ inline WarpMemory warp_memory(std::byte* shared, const PlacementLayout& layout,
                                         const PlacementShape& shape) {
  std::byte* warp = shared + layout.warps + warp_index() * layout.warp_bytes;
  return {reinterpret_cast<float*>(warp),
          warp + layout.devices,
          reinterpret_cast<PendingRun*>(warp + layout.pending),
          warp + layout.snapshots,
          layout.snapshot_bytes,
          shape.snapshots};
}

/// Lowest cost of the slot's placements, lowest limit on ties. By one warp.
__device__ inline void store_best(const RowTag* tags, int count, int slot, unsigned heads,
                                  ResultView* result) {
  double cost_ms = __uint_as_float(0x7F800000U);
  int limit = -1;
  unsigned placements = 0;
#pragma unroll 1
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

/// The warp's head, with weights on their way.
template <class Head>
__device__ inline Head load_head(const PlacementArgs& args) {
  const PlacementShape& shape = args.shape;
  std::byte* shared = dynamic_shared_memory();
  const PlacementLayout& layout = args.layout;
  return Head(args.head, shape.width,
              reinterpret_cast<float*>(shared + layout.warps + warp_index() * layout.warp_bytes +
                                       layout.scratch));
}

__device__ inline CommCopies copies_of_block(const PlacementArgs& args, const CommView& comm) {
  if (args.shape.comm_copies_bytes == 0) return {};
  const auto first = static_cast<int>(args.layout.comm_copies);
  return {first, first + comm.backward.mlp.bytes};
}

/// Finished placements, if they are in shared memory.
__device__ inline float* shared_rows(const PlacementArgs& args) {
  return reinterpret_cast<float*>(dynamic_shared_memory() + args.layout.rows);
}

/// Evaluations of a block, once place_block() is done and there was a barrier.
struct BlockCounts {
  unsigned heads;
  unsigned placements;
};

__device__ inline BlockCounts counts_of_block(const PlacementArgs& args) {
  const std::byte* shared = dynamic_shared_memory();
  const auto* heads = reinterpret_cast<const unsigned*>(shared + args.layout.head_counts);
  BlockCounts counts{0, *reinterpret_cast<const unsigned*>(shared + args.layout.row_count)};
#pragma unroll 1
  for (int slot = 0; slot < args.shape.slots; ++slot) counts.heads += heads[slot];
  return counts;
}

/// Starts to copy the communication networks' weights, if there is room for them. By a whole block,
/// before place_block().
__device__ inline void start_copies_of_block(const PlacementArgs& args, const CommView& comm) {
  if (args.shape.comm_copies_bytes > 0) start_weights_copies(comm, copies_of_block(args, comm));
}

/// Places the candidates of a block's slots from start to end: each warp runs greedy placements one
/// after the other (place_greedily.cuh), with the weights of the head in registers and the devices
/// in registers or shared memory. Then the block runs the communication networks for all placements
/// that its warps finished, and keeps the best of each slot. By a whole block, which may have
/// written slots and piece ids itself, and has a barrier before; it has one afterwards before it
/// reads the results. `work` says where things are, asked again and again, since registers are
/// scarce: session(), slots(), order(slot), rows(), the finished placements, and head().
template <class Head, class Devices, class Work>
__device__ void place_block(const PlacementArgs& args, const Work& work) {
  const PlacementShape& shape = args.shape;
  std::byte* shared = dynamic_shared_memory();
  const PlacementLayout& layout = args.layout;
  auto* tags = reinterpret_cast<RowTag*>(shared);
  auto* row_count = reinterpret_cast<int*>(shared + layout.row_count);
  auto* head_counts = reinterpret_cast<unsigned*>(shared + layout.head_counts);
  const SessionView& session = work.session();
  const auto rows_of_block = [&] {
    return row_arrays(work.rows(), args.shape.rows(), session.devices);
  };

  if (threadIdx.x == 0) *row_count = 0;
  if (static_cast<int>(threadIdx.x) < shape.slots) head_counts[threadIdx.x] = 0;
  __syncthreads();

  // Most blocks have one slot; a division takes as long as a quarter of a step.
  const int slot = shape.slots == 1 ? 0 : warp_index() / shape.warps_per_slot;
  const CandidateSlot candidate = work.slots()[slot];
  // Number among the candidate's warps, in all its slots.
  const int warp = (static_cast<int>(candidate.part) - slot) * shape.warps_per_slot + warp_index();
  const int first_limit = args.first_limits[warp];
  const int end_limit = args.first_limits[warp + 1];
  if (candidate.result != kNoCandidate && first_limit < end_limit) {
    const WarpMemory memory = warp_memory(shared, layout, shape);
    const auto& head = work.head();
    const PlacementRun run{session.pieces,        session.embeddings,
                           session.dim_limits,    session.memory_bytes,
                           session.devices,       shape.width,
                           work.order(candidate), static_cast<int>(candidate.pieces),
                           first_limit,           end_limit - 1};
    const auto finished = [&](const Devices& devices, int limit) {
      int row = 0;
      if (lane_index() == 0) row = atomicAdd(row_count, 1);
      row = __shfl_sync(kAllLanes, row, 0);
      if (lane_index() == 0) tags[row] = {0.0, slot, limit};
      const RowArrays rows = rows_of_block();
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
  final_costs(session, rows_of_block(), count, tile, copies_of_block(args, session.comm), tags);

  for (int s = warp_index(); s < shape.slots; s += warps_in_block()) {
    const std::uint32_t result = work.slots()[s].result;
    if (result != kNoCandidate) store_best(tags, count, s, head_counts[s], args.results + result);
  }
}

}  // namespace neuroshard::gpu
