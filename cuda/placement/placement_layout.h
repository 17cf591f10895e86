#pragma once

#include "cuda/networks/comm_layout.h"
#include "cuda/placement/placement_views.h"

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

/// More devices than a warp has lanes live in shared memory.
inline constexpr int kMaxLaneDevices = 32;

/// Bytes that placement knows of a device, in use in shared memory or saved there.
inline constexpr std::size_t kDeviceStateBytes = 16;

NEUROSHARD_HOST_DEVICE constexpr std::size_t align_to_16(std::size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/// Bytes of the tiles of the communication networks.
constexpr std::size_t comm_bytes(const PlacementShape& shape) {
  return comm_bytes(shape.comm_width, shape.comm_rows, shape.comm_weight_bytes);
}

constexpr PlacementLayout placement_layout(const PlacementShape& shape, std::size_t comm_bytes) {
  const auto devices = static_cast<std::size_t>(shape.devices);
  const std::size_t sums = devices * static_cast<std::size_t>(shape.width) * sizeof(float);
  const std::size_t states = align_to_16(devices * kDeviceStateBytes);
  const auto limits = static_cast<std::size_t>(shape.limits_per_warp());
  const auto offset = [](std::size_t bytes) { return static_cast<std::uint32_t>(bytes); };
  PlacementLayout layout;
  layout.row_count = offset(static_cast<std::size_t>(shape.rows()) * sizeof(RowTag));
  layout.head_counts = offset(layout.row_count + sizeof(int));
  layout.rows = offset(
      align_to_16(layout.head_counts + static_cast<std::size_t>(shape.slots) * sizeof(unsigned)));
  layout.comm_copies =
      offset(align_to_16(layout.rows + (shape.rows_in_shared ? shape.row_bytes() : 0)));
  layout.warps = offset(layout.comm_copies + static_cast<std::size_t>(shape.comm_copies_bytes));
  layout.devices = offset(sums + 4 * static_cast<std::size_t>(shape.width) * sizeof(float));
  layout.pending = offset(layout.devices + (shape.many_devices ? states : 0));
  layout.scratch = offset(layout.pending + limits * sizeof(PendingRun));
  layout.snapshots =
      offset(layout.scratch + 2 * static_cast<std::size_t>(shape.head_width) * sizeof(float));
  layout.snapshot_bytes = offset(sums + states);
  layout.warp_bytes =
      offset(layout.snapshots + static_cast<std::size_t>(shape.snapshots) * layout.snapshot_bytes);
  const std::size_t placing = static_cast<std::size_t>(shape.warps()) * layout.warp_bytes;
  layout.total = offset(layout.warps + (placing > comm_bytes ? placing : comm_bytes));
  return layout;
}

/// `args` with what follows from the shape.
constexpr PlacementArgs laid_out(PlacementArgs args) {
  const PlacementShape& shape = args.shape;
  args.layout = placement_layout(shape, comm_bytes(shape));
  const int warps = shape.parts * shape.warps_per_slot;
  for (int warp = 0; warp <= warps; ++warp) {
    args.first_limits[warp] = warp * shape.all_limits / warps;
  }
  return args;
}

}  // namespace neuroshard::gpu
