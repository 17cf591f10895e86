#pragma once

#include "cuda/placement/device_states.cuh"
#include "cuda/placement/placement_layout.h"

namespace neuroshard::gpu {

/// Work of one warp, in registers: read from memory, it would be read again in every step.
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

/// The pieces of a candidate in order. Each is read a step before it is needed, its id two: no
/// address depends on what is placed where. Behind the last piece it comes again and again.
/// `kWidth`: floats of an embedding, 0 if not known when compiled.
template <int kWidth>
class PieceStream {
 public:
  __device__ PieceStream(const PlacementRun& run, unsigned first) : run_(run), step_(first) {
    if (done()) return;
    now_ = read(id_at(first));
    after_ = read(id_at(first + 1));
    id_ = id_at(first + 2);
  }

  [[nodiscard]] __device__ unsigned step() const { return step_; }
  [[nodiscard]] __device__ bool done() const { return step_ >= static_cast<unsigned>(run_.count); }
  [[nodiscard]] __device__ std::int64_t size_bytes() const { return now_.size_bytes; }
  [[nodiscard]] __device__ int dim() const { return now_.dim; }

  /// Calls visit(i, element) for each element of this piece's embedding, each by a lane that is
  /// always the same.
  template <typename Visit>
  __device__ void for_each_element(const Visit& visit) const {
    const int lane = lane_index();
    if (kWidth >= kWarpSize || lane < width()) visit(lane, now_.element);
    for (int i = lane + kWarpSize; i < width(); i += kWarpSize) {
      visit(i, read_only(row(now_.id) + i));
    }
  }

  /// Moves on to the next piece.
  __device__ void next() {
    ++step_;
    now_ = after_;
    const std::uint32_t id = id_at(step_ + 2);  // Before the piece: it is waited for last.
    after_ = read(id_);
    id_ = id;
  }

 private:
  struct Piece {
    std::uint32_t id = 0;
    std::int64_t size_bytes = 0;
    int dim = 0;
    float element = 0.0F;  ///< That of the lane.
  };

  [[nodiscard]] __device__ int width() const { return kWidth > 0 ? kWidth : run_.width; }
  [[nodiscard]] __device__ const float* row(std::uint32_t id) const {
    return run_.embeddings + static_cast<std::size_t>(id) * static_cast<std::size_t>(width());
  }
  // The kernel itself may have written it.
  [[nodiscard]] __device__ std::uint32_t id_at(unsigned step) const {
    return run_.order[min(static_cast<int>(step), run_.count - 1)];
  }
  [[nodiscard]] __device__ Piece read(std::uint32_t id) const {
    // Not as one load of 16 bytes: nothing would need its last word, whose register would be given
    // to something else, and that would wait for the load.
    Piece piece{.id = id,
                .size_bytes = read_only(&run_.pieces[id].size_bytes),
                .dim = read_only(&run_.pieces[id].dim)};
    if (kWidth >= kWarpSize || lane_index() < width()) {
      piece.element = read_only(row(id) + lane_index());
    }
    return piece;
  }

  const PlacementRun& run_;
  unsigned step_;
  Piece now_;
  Piece after_;
  std::uint32_t id_ = 0;  ///< Id of the piece behind that.
};

/// The shared memory of one warp.
struct WarpMemory {
  /// [2, 2, width]: with the next piece, of either device, by turns. Behind them, [devices, width],
  /// the sums as they are.
  float* new_sums;
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
  float* all_sums = memory.new_sums + 4 * width;
  Devices devices(run.devices, memory.devices);
  unsigned heads = 0;
  int waiting = 0;
  PendingRun now{run.first_limit, run.last_limit, 0, -1};
  for (;;) {
    __syncwarp();
    if (now.snapshot < 0) {
      devices.reset();
      for (int i = lane_index(); i < sum_floats; i += kWarpSize) all_sums[i] = 0.0F;
      now.step = 0;
    } else {
      std::byte* saved = memory.snapshots + now.snapshot * memory.snapshot_bytes;
      const auto* sums = reinterpret_cast<const float*>(saved);
      for (int i = lane_index(); i < sum_floats; i += kWarpSize) all_sums[i] = sums[i];
      devices.load(saved + sum_floats * sizeof(float));
    }
    const int limit = read_only(limits + now.last_limit);
    int tightest = read_only(limits + now.first_limit);
    bool placed = true;
    PieceStream<Head::kSumWidth> stream(run, static_cast<unsigned>(now.step));
    const auto room = [&] {
      const int dim = stream.dim();
      return Room{run.memory_bytes - stream.size_bytes(), limit - dim, tightest - dim};
    };
    // Sums of the last device and its rival with the piece whose turn it is are at `ahead`; that of
    // the device that gets it is at `chosen`. These are offsets in the block's memory: the compiler
    // must see that it is shared, and would compute offsets in the warp's again and again.
    auto* shared = reinterpret_cast<float*>(dynamic_shared_memory());
    const auto first = static_cast<int>(memory.new_sums - shared);
    int ahead = first;
    int chosen = first;
    int device = 0;
    // Chooses by looking at all devices, and lets limits get off.
    const auto choose = [&] {
      const DeviceChoice choice = devices.choose(room());
      if (choice.device < 0) return false;  // Nor under the tighter limits that ride along.
      if (!choice.within_tighter) {
        const int needed = devices.dim_sum_of(choice.device) + stream.dim();
        int stays = now.first_limit + 1;
        while (read_only(limits + stays) < needed) ++stays;
        PendingRun off{now.first_limit, stays - 1, static_cast<std::int32_t>(stream.step()), -1};
        if (waiting < memory.snapshot_count) {
          off.snapshot = waiting;
          std::byte* saved = memory.snapshots + waiting * memory.snapshot_bytes;
          auto* sums = reinterpret_cast<float*>(saved);
          __syncwarp();
          for (int i = lane_index(); i < sum_floats; i += kWarpSize) sums[i] = all_sums[i];
          devices.save(saved + sum_floats * sizeof(float));
        }
        if (lane_index() == 0) memory.pending[waiting] = off;
        ++waiting;
        now.first_limit = stays;
        tightest = read_only(limits + stays);
      }
      device = choice.device;
      chosen = ahead;
      stream.for_each_element([&](int i, float element) {
        shared[chosen + i] = all_sums[device * width + i] + element;
      });
      return true;
    };
    __syncwarp();
    if (!stream.done()) placed = choose();
    int last = -1;  // Whose new cost the devices are to be told.
    float cost_ms = 0.0F;
    const bool any = placed && !stream.done();
    while (any) {  // Left at the last piece, or where there is no room.
      __syncwarp();
      const float* sum = shared + chosen;
      const float partial = head.partial(sum);
      // Work that does not need the new cost is done while that is computed.
      if constexpr (Devices::kLooksAhead) devices.set_cost(last, cost_ms);
      devices.add(device, stream.size_bytes(), stream.dim());
      stream.next();
      NextChoice next = devices.look_ahead(device, room());
      ahead = 2 * (first + width) - ahead;
      stream.for_each_element([&](int i, float element) {
        const float of_device = sum[i];
        all_sums[device * width + i] = of_device;
        if constexpr (!Devices::kLooksAhead) return;
        shared[ahead + i] = of_device + element;
        shared[ahead + width + i] = all_sums[max(next.rival, 0) * width + i] + element;
      });
      if (stream.done()) next = no_choice();
      cost_ms = head.total(partial);
      last = device;
      const bool same = next.is_same(cost_ms);
      if (same || next.is_rival(cost_ms)) {
        chosen = same ? ahead : ahead + width;
        device = same ? device : next.rival;
        continue;
      }
      devices.set_cost(device, cost_ms);
      if (stream.done()) break;
      placed = choose();
      if (!placed) break;
    }
    heads += stream.step() - static_cast<unsigned>(now.step);
    if (placed) finished(devices, now.first_limit);
    if (waiting == 0) return heads;
    now = memory.pending[--waiting];
  }
}

}  // namespace neuroshard::gpu
