#pragma once

#include "cuda/device_states.cuh"
#include "cuda/evaluate_layout.h"

namespace neuroshard::gpu {

/// The pieces of a candidate in order, each read one step ahead of its use: no address depends on
/// what is placed where. `kWidth`: floats of an embedding, 0 if not known when compiled.
template <int kWidth>
class PieceStream {
 public:
  __device__ PieceStream(const SessionView& session, int width, const std::uint32_t* order,
                         int count, int first)
      : session_(session),
        width_(kWidth > 0 ? kWidth : width),
        order_(order),
        count_(count),
        step_(first) {
    ids_ = load_ids(first / kWarpSize);
    fetch(first);
  }

  [[nodiscard]] __device__ const PieceView& piece() const { return piece_; }

  /// Adds this piece's embedding to `sum` and moves on to the next piece.
  __device__ void add_to(float* sum) {
    if (kWidth >= kWarpSize || lane_index() < width_) sum[lane_index()] += first_element_;
    for (int i = lane_index() + kWarpSize; i < width_; i += kWarpSize) sum[i] += row_[i];
    ++step_;
    if (step_ % kWarpSize == 0) ids_ = load_ids(step_ / kWarpSize);
    fetch(step_);
  }

 private:
  __device__ std::uint32_t load_ids(int chunk) const {
    const int i = chunk * kWarpSize + lane_index();
    return i < count_ ? order_[i] : 0;
  }

  __device__ void fetch(int step) {
    if (step >= count_) return;
    const std::uint32_t id = __shfl_sync(kAllLanes, ids_, step % kWarpSize);
    piece_ = session_.pieces[id];
    row_ = session_.embeddings + static_cast<std::size_t>(id) * static_cast<std::size_t>(width_);
    if (kWidth >= kWarpSize || lane_index() < width_) first_element_ = row_[lane_index()];
  }

  const SessionView& session_;
  const int width_;
  const std::uint32_t* order_;
  int count_;
  int step_;
  std::uint32_t ids_ = 0;
  PieceView piece_;
  const float* row_ = nullptr;
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

struct PlacementRun {
  const SessionView& session;
  const std::uint32_t* order;
  int pieces;
  int width;
  int first_limit;
  int last_limit;
};

/// Places a candidate under the limits [first_limit, last_limit], by one warp. Calls
/// finished(devices, grid_step) once for each different placement, with the lowest of the grid
/// steps that lead to it. Returns how many heads it evaluated.
///
/// Greedy placement under a tighter limit makes the same choices until a device is chosen that has
/// no room under the tighter one. So the loosest limit runs first and the others ride along; those
/// that get off wait, with a copy of the state as far as shared memory goes, and run on from there
/// (or, without a copy, from the start) when the limits that stayed on are done. Each step that two
/// limits have in common is taken once.
template <class Head, class Devices, class Finished>
__device__ unsigned place_greedily(const PlacementRun& run, const Head& head,
                                   const WarpMemory& memory, const Finished& finished) {
  const SessionView& session = run.session;
  const int* limits = session.dim_limits;
  const int width = Head::kSumWidth > 0 ? Head::kSumWidth : run.width;
  const int sum_floats = session.devices * width;
  Devices devices(session.devices, memory.devices);
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
    const int limit = limits[now.last_limit];
    int tightest = limits[now.first_limit];
    bool placed = true;
    PieceStream<Head::kSumWidth> stream(session, width, run.order, run.pieces, now.step);
    for (int step = now.step; step < run.pieces; ++step) {
      const std::int64_t size = stream.piece().size_bytes;
      const int dim = stream.piece().dim;
      const DeviceChoice choice =
          devices.choose({session.memory_bytes - size, limit - dim, tightest - dim});
      if (choice.device < 0) {
        placed = false;  // Nor under the tighter limits that ride along.
        break;
      }
      if (!choice.within_tighter) {
        const int needed = devices.dim_sum_of(choice.device) + dim;
        int stays = now.first_limit + 1;
        while (limits[stays] < needed) ++stays;
        PendingRun off{now.first_limit, stays - 1, step, -1};
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
        tightest = limits[stays];
      }
      float* sum = memory.sums + choice.device * width;
      __syncwarp();
      stream.add_to(sum);
      __syncwarp();
      devices.place(choice.device, size, dim, head(sum));
      ++heads;
    }
    __syncwarp();
    if (placed) finished(devices, now.first_limit);
    if (waiting == 0) return heads;
    now = memory.pending[--waiting];
  }
}

}  // namespace neuroshard::gpu
