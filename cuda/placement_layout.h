#pragma once

#include "cuda/comm_layout.h"
#include "cuda/placement_views.h"

namespace neuroshard::gpu {

/// A finished placement of a block: candidate and dim limit, and what it costs.
struct RowTag {
  double cost_ms = 0.0;
  std::int32_t slot = 0;
  std::int32_t limit = 0;
};

/// A run that is put off (place_greedily.cuh).
struct PendingRun {
  std::int32_t first_limit = 0;
  std::int32_t last_limit = 0;
  std::int32_t step = 0;
  std::int32_t snapshot = -1;  ///< -1: start again from the first piece.
};

/// Offsets of everything in the shared memory of place_block. First what the block
/// shares for all its life, then either the memory of the warps (while they place) or the tiles of
/// the communication networks (afterwards).
struct PlacementLayout {
  std::size_t tags = 0;            ///< RowTag[rows]
  std::size_t row_count = 0;       ///< int
  std::size_t head_counts = 0;     ///< unsigned[slots]
  std::size_t warps = 0;           ///< warps times:
  std::size_t warp_bytes = 0;      ///<   sums at 0: float[4 + devices, width]
  std::size_t devices = 0;         ///<   SharedDevices
  std::size_t pending = 0;         ///<   PendingRun[limits_per_warp]
  std::size_t scratch = 0;         ///<   of the generic head: float[2, head_width]
  std::size_t snapshots = 0;       ///<   snapshots times:
  std::size_t snapshot_bytes = 0;  ///<     sums, then what the devices save
  std::size_t total = 0;
};

/// More devices than a warp has lanes live in shared memory.
inline constexpr int kMaxLaneDevices = 32;

/// Of what placement knows of a device, in use in shared memory or saved there.
inline constexpr std::size_t kDeviceStateBytes = 16;

NEUROSHARD_HOST_DEVICE constexpr std::size_t align_to_16(std::size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/// Of the tiles of the communication networks.
NEUROSHARD_HOST_DEVICE constexpr std::size_t comm_bytes(const PlacementShape& shape) {
  return comm_bytes(shape.comm_width, shape.comm_rows, shape.comm_weight_bytes);
}

NEUROSHARD_HOST_DEVICE constexpr PlacementLayout placement_layout(const PlacementShape& shape,
                                                                  std::size_t comm_bytes) {
  const auto devices = static_cast<std::size_t>(shape.devices);
  const std::size_t sums = devices * static_cast<std::size_t>(shape.width) * sizeof(float);
  const std::size_t states = align_to_16(devices * kDeviceStateBytes);
  PlacementLayout layout;
  layout.row_count = static_cast<std::size_t>(shape.rows()) * sizeof(RowTag);
  layout.head_counts = layout.row_count + sizeof(int);
  layout.warps =
      align_to_16(layout.head_counts + static_cast<std::size_t>(shape.slots) * sizeof(unsigned));
  layout.devices = sums + 4 * static_cast<std::size_t>(shape.width) * sizeof(float);
  layout.pending = layout.devices + (shape.many_devices ? states : 0);
  layout.scratch =
      layout.pending + static_cast<std::size_t>(shape.limits_per_warp()) * sizeof(PendingRun);
  layout.snapshots =
      layout.scratch + 2 * static_cast<std::size_t>(shape.head_width) * sizeof(float);
  layout.snapshot_bytes = sums + states;
  layout.warp_bytes =
      layout.snapshots + static_cast<std::size_t>(shape.snapshots) * layout.snapshot_bytes;
  const std::size_t placing = static_cast<std::size_t>(shape.warps()) * layout.warp_bytes;
  layout.total = layout.warps + (placing > comm_bytes ? placing : comm_bytes);
  return layout;
}

}  // namespace neuroshard::gpu
