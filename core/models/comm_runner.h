#pragma once

#include <limits>
#include <optional>

#include "core/models/equal_devices.h"
#include "core/models/mlp_runner.h"
#include "core/models/packed_models.h"

namespace neuroshard {

/// Communication costs of batches of placements, for either architecture. One per thread.
class CommRunner {
 public:
  /// As many rows as it takes at once.
  static constexpr int kAnyRows = std::numeric_limits<int>::max();

  /// Borrows both. `most_rows`: of a call; more take several passes, but memory is made, and
  /// zeroed, for no more than that.
  CommRunner(const CpuKernels& kernels, const PackedCommNetwork& network, int devices,
             int most_rows = kAnyRows);

  /// `dim_sums`: [rows, devices]; `start_offsets_ms`: the same, or null for the backward pass.
  /// `cost_ms`: [rows, devices].
  void run(const float* dim_sums, const float* start_offsets_ms, int rows, float* cost_ms);

  [[nodiscard]] std::size_t held_bytes() const {
    return mlp_.held_bytes() + heap_bytes(layers_) + heap_bytes(inputs_) + heap_bytes(outputs_) +
           heap_bytes(seen_) + heap_bytes(last_offsets_ms_) + heap_bytes(scratch_[0]) +
           heap_bytes(scratch_[1]) + (equal_ ? equal_->held_bytes() : 0);
  }

 private:
  /// Columns of rows as the network sees them.
  const float* seen(const float* dim_sums, int rows);
  /// The start offset of the device that is ready last, for each row.
  void find_last_offsets(const float* start_offsets_ms, int rows);
  /// The share of its start offsets that the network sees (core/models/seen_offsets.h).
  [[nodiscard]] float share_of(int row) const;
  void add_unseen_waits(const float* start_offsets_ms, int rows, float* cost_ms) const;
  void run_dense(const float* dim_sums, const float* start_offsets_ms, int rows, float* cost_ms);
  void run_symmetric(const float* dim_sums, const float* start_offsets_ms, int rows,
                     float* cost_ms);

  const PackedCommNetwork& network_;
  const NodeColumns* nodes_ = nullptr;  ///< Null: as they are.
  int devices_;
  int input_stride_;  ///< Dense: of a row. Symmetric: of an input.
  int output_stride_;
  int block_rows_;  ///< Placements per pass through the network.
  const CpuKernels& kernels_;
  MlpRunner mlp_;                        ///< For a dense network.
  std::vector<PackedLayerView> layers_;  ///< For a symmetric network.
  float log2_devices_;
  AlignedVector<float> inputs_;  ///< Dense: a row a placement. Symmetric: a column a device.
  AlignedVector<float> scratch_[2];
  AlignedVector<float> outputs_;
  AlignedVector<float> seen_;
  std::optional<EqualDevices> equal_;   ///< Where placements come one at a time.
  std::vector<float> last_offsets_ms_;  ///< [rows of a block]
};

}  // namespace neuroshard
