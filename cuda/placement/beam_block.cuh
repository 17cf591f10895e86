#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/device/between_blocks.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/placement/beam_states.cuh"
#include "cuda/placement/beam_views.h"
#include "cuda/placement/placement_views.h"

namespace neuroshard::gpu {

/// Copies `bytes`, a multiple of kChunk, to shared memory, by a whole block that waits for it
/// later.
template <int kChunk>
__device__ void start_copy(void* to, const void* from, std::size_t bytes) {
#pragma unroll 1
  for (std::size_t at = threadIdx.x * kChunk; at < bytes; at += blockDim.x * kChunk) {
    __pipeline_memcpy_async(static_cast<std::byte*>(to) + at,
                            static_cast<const std::byte*>(from) + at, kChunk);
  }
}

/// A block with a beam search in its hands: where everything is. `kDesk`: it has a desk
/// (DeskLayout). Device memory is as far away as L2, some 270 cycles, and between two levels
/// nothing else is done meanwhile. So everything is loaded before it is waited for, or all at once,
/// and changed in shared memory.
template <bool kDesk>
class BeamBlock {
 public:
  __device__ BeamBlock(const BeamArgs& args, BeamControl& control)
      : args_(args), control_(control) {}

  /// Loads what does not depend on the level, by the whole block. False if the search is over. Ends
  /// with a barrier.
  [[nodiscard]] __device__ bool load() const {
    start_copy<8>(&control_.beam, args_.beams + index(), sizeof(BeamView));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    start_copy<8>(&control_.session, beam().session, sizeof(SessionView));
    __pipeline_commit();
    if (threadIdx.x == 0) {
      control_.item = static_cast<unsigned>(atomicAdd(&progress().published, 0ULL));
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    if (control_.item == kSearchOver) return false;
    if constexpr (kDesk) {
      const DeskLayout& desk = args_.desk;
      const std::size_t pieces = beam().piece_count;
      start_copy<16>(dynamic_shared_memory() + desk.pieces, control_.session.pieces,
                     pieces * sizeof(PieceView));
      start_copy<4>(dynamic_shared_memory() + desk.cost_ms, beam().piece_cost_ms,
                    pieces * sizeof(float));
      start_copy<4>(dynamic_shared_memory() + desk.may_halve, beam().may_halve,
                    (pieces + 3) / 4 * 4);
      __pipeline_commit();
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    return true;
  }

  /// Loads what is known of the level, by the whole block.
  __device__ void load_level() const {
    if constexpr (!kDesk) return;
    const auto* from = reinterpret_cast<const uint4*>(published_level(control_.level));
    auto* to = reinterpret_cast<uint4*>(desk_level(control_.level));
    const auto count = static_cast<int>(args_.layout.level_bytes / sizeof(uint4));
    const int threads = static_cast<int>(blockDim.x);
    // Two loads on their way: that is all there is of most searches.
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < count; i += 2 * threads) {
      const uint4 a = from[i];
      const uint4 b = from[min(i + threads, count - 1)];
      to[i] = a;
      if (i + threads < count) to[i + threads] = b;
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ const BeamArgs& args() const { return args_; }
  [[nodiscard]] __device__ BeamControl& control() const { return control_; }
  [[nodiscard]] __device__ const BeamView& beam() const { return control_.beam; }
  [[nodiscard]] __device__ BeamProgress& progress() const {
    return *in_device_memory(beam().progress);
  }
  /// The item's, in what items of a level have in device memory, so that they do not meet.
  [[nodiscard]] __device__ std::size_t place() const {
    return static_cast<std::size_t>(index()) * args_.most_items + control_.end_item - 1 -
           control_.item;
  }
  [[nodiscard]] __device__ std::byte* memory() const { return in_device_memory(beam().memory); }
  [[nodiscard]] __device__ std::byte* desk() const {
    if constexpr (kDesk) {
      return dynamic_shared_memory() + args_.desk.beam;
    } else {
      return memory();
    }
  }
  [[nodiscard]] __device__ std::byte* desk_level(int level) const {
    return desk() + (level % 2 == 0 ? 0 : args_.layout.level_bytes);
  }
  [[nodiscard]] __device__ std::byte* published_level(int level) const {
    return memory() + (level % 2 == 0 ? 0 : args_.layout.level_bytes);
  }
  [[nodiscard]] __device__ BeamPieces pieces() const {
    if constexpr (kDesk) {
      return {
          reinterpret_cast<const float*>(dynamic_shared_memory() + args_.desk.cost_ms),
          reinterpret_cast<const PieceView*>(dynamic_shared_memory() + args_.desk.pieces),
          reinterpret_cast<const std::uint8_t*>(dynamic_shared_memory() + args_.desk.may_halve)};
    } else {
      return {in_device_memory(beam().piece_cost_ms), in_device_memory(control_.session.pieces),
              in_device_memory(beam().may_halve)};
    }
  }
  /// Orders of candidates, of this block and, without a desk, of all others.
  [[nodiscard]] __device__ std::uint32_t* piece_ids() const {
    if constexpr (kDesk) {
      return reinterpret_cast<std::uint32_t*>(dynamic_shared_memory());
    } else {
      return args_.piece_ids;
    }
  }
  /// Index of the block's orders in piece_ids(). A slot has all of it: known when compiled, parts
  /// of it would be added anew in each step.
  [[nodiscard]] __device__ std::uint32_t first_order() const {
    if constexpr (kDesk) {
      return args_.desk.orders / static_cast<std::uint32_t>(sizeof(std::uint32_t));
    } else {
      return static_cast<std::uint32_t>(place()) *
             static_cast<std::uint32_t>(args_.placement.shape.slots) * args_.most_slices;
    }
  }
  [[nodiscard]] __device__ BeamState state(std::byte* level, int s) const {
    return state_of(args_.layout, level, s);
  }
  [[nodiscard]] __device__ BeamChild* children(std::byte* level) const {
    return reinterpret_cast<BeamChild*>(level + args_.layout.children);
  }
  [[nodiscard]] __device__ LevelHead& head(std::byte* level) const {
    return *reinterpret_cast<LevelHead*>(level + args_.layout.head);
  }
  [[nodiscard]] __device__ static std::uint32_t* words(std::byte* memory, std::size_t offset) {
    return reinterpret_cast<std::uint32_t*>(memory + offset);
  }
  [[nodiscard]] __device__ PricedChild* priced() const {
    return reinterpret_cast<PricedChild*>(desk() + args_.layout.priced);
  }
  [[nodiscard]] __device__ std::uint32_t result_of(int part, int candidate) const {
    return beam().first_result + static_cast<std::uint32_t>(part) * args_.most_candidates +
           static_cast<std::uint32_t>(candidate);
  }

 private:
  [[nodiscard]] __device__ unsigned index() const { return blockIdx.x % args_.count; }

  const BeamArgs& args_;
  BeamControl& control_;
};

}  // namespace neuroshard::gpu
