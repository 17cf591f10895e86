#include "cuda/device/launch.h"
#include "cuda/placement/place_block.cuh"
#include "cuda/placement/place_candidates.h"

namespace neuroshard::gpu {
namespace {

/// Work of a block, for place_block().
template <class Head>
struct CandidateWork {
  const PlacementArgs& args;

  [[nodiscard]] __device__ const CandidateSlot* slots() const {
    return args.slots + blockIdx.x * static_cast<unsigned>(args.shape.slots);
  }
  [[nodiscard]] __device__ Head head() const { return load_head<Head>(args); }
  [[nodiscard]] __device__ const SessionView& session() const { return *slots()->session; }
  [[nodiscard]] __device__ const std::uint32_t* order(const CandidateSlot& slot) const {
    return added_up(args.piece_ids + slot.first_piece);
  }
  [[nodiscard]] __device__ float* rows() const {
    if (args.shape.rows_in_shared) return shared_rows(args);
    return args.rows + blockIdx.x * (args.shape.row_bytes() / sizeof(float));
  }
};

// One launch places candidates from start to end (place_block.cuh); a block holds a few candidates
// of one task. Bound by the latency of the chain of steps if there are few candidates, by fp32
// issue if there are many. Nothing but finished placements for which shared memory has no room (L2)
// and one result per candidate leaves the multiprocessor.
template <class Head, class Devices>
__global__ void __launch_bounds__(kMaxPlacementWarps* kWarpSize, 1)
    place_candidates_kernel(const PlacementArgs args) {
  const CandidateWork<Head> work{args};
  start_copies_of_block(args, work.session().comm);
  place_block<Head, Devices>(args, work);
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
  launch(kernel_for(fits_registers(args.head, shape.width), shape.many_devices),
         {blocks, static_cast<unsigned>(shape.warps()) * kWarpSize, placement_shared_bytes(shape)},
         stream, laid_out(args));
}

void prepare_place_candidates(std::size_t max_shared_bytes) {
  for (const bool in_registers : {false, true}) {
    for (const bool many_devices : {false, true}) {
      allow_shared_memory(kernel_for(in_registers, many_devices), max_shared_bytes);
    }
  }
}

}  // namespace neuroshard::gpu
