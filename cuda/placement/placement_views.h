#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/networks/network_view.h"

namespace neuroshard::gpu {

/// One piece, in the 16 bytes that a step of a placement needs.
struct alignas(16) PieceView {
  std::int64_t size_bytes = 0;
  std::int32_t dim = 0;
  std::int32_t unused = 0;
};

/// One task, in device memory.
struct SessionView {
  const PieceView* pieces = nullptr;
  const float* embeddings = nullptr;  ///< [pieces, embedding width]
  const std::int32_t* dim_limits = nullptr;
  std::int64_t memory_bytes = 0;
  std::int32_t devices = 0;
  std::int32_t limits = 0;
  float log2_devices = 0.0F;
  std::int32_t unused = 0;
  CommView comm;
};

inline constexpr std::uint32_t kNoCandidate = 0xFFFFFFFFU;

/// A block has at most this many warps, each thread of which may use 168 registers: what a head
/// with its weights needs to have its loads on their way in time. So many a candidate has at most,
/// too, in all its parts.
inline constexpr int kMaxPlacementWarps = 12;
/// PlacementShape::parts, at most: one for each four of these warps.
inline constexpr int kMostParts = kMaxPlacementWarps / 4;

/// A place in a block for a candidate, or for a part of its limits. The slots of a block all have
/// the same session.
struct CandidateSlot {
  const SessionView* session = nullptr;
  std::uint32_t first_piece = 0;  ///< Index into the list of piece ids.
  std::uint32_t pieces = 0;
  std::uint32_t result = kNoCandidate;  ///< Index into the results; kNoCandidate: an empty slot.
  std::uint32_t part = 0;               ///< Index below PlacementShape::parts.
};

/// Cost and limit are read as the 16 bytes that they begin with.
struct alignas(16) ResultView {
  double cost_ms = 0.0;
  std::int32_t limit = -1;
  std::uint32_t head_evaluations = 0;
  std::uint32_t comm_evaluations = 0;
  std::uint32_t unused = 0;
};

/// Arrays of finished placements, a float for each device.
inline constexpr int kRowArrays = 5;

/// How a launch spreads candidates over warps. A candidate's limits are dealt to `parts` slots,
/// each with a result of its own; a block has `slots` of them with `warps_per_slot` warps each. A
/// warp takes limits that lie side by side, the loosest first (place_greedily.cuh).
struct PlacementShape {
  int parts = 1;
  int slots = 1;
  int warps_per_slot = 1;
  int devices = 1;            ///< Largest of the launch, and so on.
  int width = 0;              ///< Floats of an embedding.
  int limits = 1;             ///< Limits of a slot.
  int all_limits = 1;         ///< Limits of a candidate.
  int snapshots = 0;          ///< Unfinished runs that a warp can keep.
  int head_width = 0;         ///< Floats of a row of the generic head's scratch; 0: needs none.
  int comm_width = 0;         ///< Width of the communication networks.
  int comm_rows = 0;          ///< Rows of a tile.
  int comm_weight_bytes = 0;  ///< For a copy of a network's weights; 0: no room for one.
  /// For copies of both networks' weights besides everything else, which are made before placing;
  /// 0: no room for them.
  int comm_copies_bytes = 0;
  bool rows_in_shared = false;  ///< Finished placements; else in PlacementArgs::rows.
  bool many_devices = false;    ///< More than a warp has lanes.

  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr int warps() const {
    return slots * warps_per_slot;
  }
  /// Finished placements that a block can have.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr int rows() const { return slots * limits; }
  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr std::size_t row_bytes() const {
    return sizeof(float) * kRowArrays * static_cast<std::size_t>(rows()) *
           static_cast<std::size_t>(devices);
  }
  /// Limits that one warp may have to keep in mind.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr int limits_per_warp() const {
    return (limits + warps_per_slot - 1) / warps_per_slot;
  }
};

/// Offsets of everything in the shared memory of place_block. First what the block
/// shares for all its life, with finished placements and weights of the communication networks if
/// there is room for them, then either the memory of the warps (while they place) or the tiles of
/// the communication networks (afterwards).
struct PlacementLayout {
  std::uint32_t tags = 0;            ///< RowTag[rows]
  std::uint32_t row_count = 0;       ///< int
  std::uint32_t head_counts = 0;     ///< unsigned[slots]
  std::uint32_t rows = 0;            ///< float[kRowArrays, rows, devices]
  std::uint32_t comm_copies = 0;     ///< comm_copies_bytes
  std::uint32_t warps = 0;           ///< warps times:
  std::uint32_t warp_bytes = 0;      ///<   sums at 0: float[4 + devices, width]
  std::uint32_t devices = 0;         ///<   SharedDevices
  std::uint32_t pending = 0;         ///<   PendingRun[limits_per_warp]
  std::uint32_t scratch = 0;         ///<   of the generic head: float[2, head_width]
  std::uint32_t snapshots = 0;       ///<   snapshots times:
  std::uint32_t snapshot_bytes = 0;  ///<     sums, then what the devices save
  std::uint32_t total = 0;
};

struct PlacementArgs {
  const CandidateSlot* slots = nullptr;  ///< [blocks, shape.slots]
  const std::uint32_t* piece_ids = nullptr;
  ResultView* results = nullptr;
  /// Scratch: five arrays of [shape.rows(), shape.devices] floats a block, if they are not in
  /// shared memory.
  float* rows = nullptr;
  MlpView head;
  float empty_ms = 0.0F;  ///< head(0)
  PlacementShape shape;
  // Layout of `shape`, by who launches a kernel: in one, it would be computed again and again.
  PlacementLayout layout = {};
  /// First limit of each warp of a candidate; the next entry ends its limits.
  std::int32_t first_limits[kMaxPlacementWarps + 1] = {};
};

}  // namespace neuroshard::gpu
