#pragma once

#include "cuda/device_states.cuh"
#include "cuda/placement_layout.h"

namespace neuroshard::gpu {

/// What one warp has to do, in registers: read from memory, it would be read again in every step.
struct PlacementRun {
  const PieceView* pieces;
  const float* embeddings;
  const std::int32_t* dim_limits;
  std::int64_t memory_bytes;
  int devices;
  int width;
  const std::uint32_t* order;
  int count;  ///< Pieces to place.
  int first_limit;
  int last_limit;
};

/// The pieces of a candidate in order, each read one step ahead of its use: no address depends on
/// what is placed where. `kWidth`: floats of an embedding, 0 if not known when compiled.
template <int kWidth>
class PieceStream {
 public:
  __device__ PieceStream(const PlacementRun& run, unsigned first) : run_(run), step_(first) {
    load_ids();
    fetch();
  }

  [[nodiscard]] __device__ unsigned step() const { return step_; }
  [[nodiscard]] __device__ bool done() const { return step_ >= static_cast<unsigned>(run_.count); }
  [[nodiscard]] __device__ std::int64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] __device__ int dim() const { return dim_; }

  /// Adds this piece's embedding to `sum` and moves on to the next piece.
  __device__ void add_to(float* sum) {
    const int lane = lane_index();
    if (kWidth >= kWarpSize || lane < width()) sum[lane] += first_element_;
    for (int i = lane + kWarpSize; i < width(); i += kWarpSize) sum[i] += read_only(row() + i);
    ++step_;
    if (step_ % 32U == 0) load_ids();
    fetch();
  }

 private:
  [[nodiscard]] __device__ int width() const { return kWidth > 0 ? kWidth : run_.width; }
  [[nodiscard]] __device__ const float* row() const {
    return run_.embeddings + static_cast<std::size_t>(id_) * static_cast<std::size_t>(width());
  }

  // Lane l keeps the id of piece l of the 32 that the step is one of.
  __device__ void load_ids() {
    const unsigned i = step_ / 32U * 32U + static_cast<unsigned>(lane_index());
    // The kernel itself may have written them.
    ids_ = i < static_cast<unsigned>(run_.count) ? run_.order[i] : 0;
  }

  __device__ void fetch() {
    if (done()) return;
    id_ = __shfl_sync(kAllLanes, ids_, static_cast<int>(step_ % 32U));
    // Not as one load of 16 bytes: nothing would need its last word, whose register would be given
    // to something else, and that would wait for the load.
    size_bytes_ = read_only(&run_.pieces[id_].size_bytes);
    dim_ = read_only(&run_.pieces[id_].dim);
    if (kWidth >= kWarpSize || lane_index() < width()) {
      first_element_ = read_only(row() + lane_index());
    }
  }

  const PlacementRun& run_;
  unsigned step_;
  std::uint32_t ids_ = 0;
  std::uint32_t id_ = 0;
  std::int64_t size_bytes_ = 0;
  int dim_ = 0;
  float first_element_ = 0.0F;
};

/// The shared memory of one warp.
struct WarpMemory {
  float* sums;  ///< [devices, width]
  std::byte* devices;
  PendingRun* pending;
  std::byte* snapshots;
  std::size_t snapshot_bytes;
  int snapshot_count;
};

/// Places a candidate under the limits [first_limit, last_limit], by one warp. Calls
/// finished(devices, limit) once for each different placement, with the lowest of the
/// limits that lead to it. Returns how many heads it evaluated.
///
/// Greedy placement under a tighter limit makes the same choices until a device is chosen that has
/// no room under the tighter one. So the loosest limit runs first and the others ride along; those
/// that get off wait, with a copy of the state as far as shared memory goes, and run on from there
/// (or, without a copy, from the start) when the limits that stayed on are done. Each step that two
/// limits have in common is taken once.
template <class Head, class Devices, class Finished>
__device__ unsigned place_greedily(const PlacementRun& run, const Head& head,
                                   const WarpMemory& memory, const Finished& finished) {
  const std::int32_t* limits = run.dim_limits;
  const int width = Head::kSumWidth > 0 ? Head::kSumWidth : run.width;
  const int sum_floats = run.devices * width;
  Devices devices(run.devices, memory.devices);
  unsigned heads = 0;
  int waiting = 0;
  PendingRun now{run.first_limit, run.last_limit, 0, -1};
  for (;;) {
    __syncwarp();
    if (now.snapshot < 0) {
      devices.reset();
      for (int i = lane_index(); i < sum_floats; i += kWarpSize) memory.sums[i] = 0.0F;
      now.step = 0;
    } else {
      std::byte* saved = memory.snapshots + now.snapshot * memory.snapshot_bytes;
      const auto* sums = reinterpret_cast<const float*>(saved);
      for (int i = lane_index(); i < sum_floats; i += kWarpSize) memory.sums[i] = sums[i];
      devices.load(saved + sum_floats * sizeof(float));
    }
    const int limit = read_only(limits + now.last_limit);
    int tightest = read_only(limits + now.first_limit);
    bool placed = true;
    PieceStream<Head::kSumWidth> stream(run, static_cast<unsigned>(now.step));
    while (!stream.done()) {
      const std::int64_t size = stream.size_bytes();
      const int dim = stream.dim();
      const DeviceChoice choice =
          devices.choose({run.memory_bytes - size, limit - dim, tightest - dim});
      if (choice.device < 0) {
        placed = false;  // Nor under the tighter limits that ride along.
        break;
      }
      if (!choice.within_tighter) {
        const int needed = devices.dim_sum_of(choice.device) + dim;
        int stays = now.first_limit + 1;
        while (read_only(limits + stays) < needed) ++stays;
        PendingRun off{now.first_limit, stays - 1, static_cast<std::int32_t>(stream.step()), -1};
        if (waiting < memory.snapshot_count) {
          off.snapshot = waiting;
          std::byte* saved = memory.snapshots + waiting * memory.snapshot_bytes;
          auto* sums = reinterpret_cast<float*>(saved);
          for (int i = lane_index(); i < sum_floats; i += kWarpSize) sums[i] = memory.sums[i];
          devices.save(saved + sum_floats * sizeof(float));
        }
        if (lane_index() == 0) memory.pending[waiting] = off;
        ++waiting;
        now.first_limit = stays;
        tightest = read_only(limits + stays);
      }
      float* sum = memory.sums + choice.device * width;
      __syncwarp();
      stream.add_to(sum);
      __syncwarp();
      devices.place(choice.device, size, dim, head(sum));
      ++heads;
    }
    if (placed) finished(devices, now.first_limit);
    if (waiting == 0) return heads;
    now = memory.pending[--waiting];
  }
}

}  // namespace neuroshard::gpu
