#pragma once

#include "core/models/comm_runner.h"
#include "core/models/packed_models.h"

namespace neuroshard {

/// Start offset of each device's forward all-to-all, [devices], from its compute and backward costs
/// (ms): how much later than the first device it is ready, c_r + b_r - min over j of (c_j + b_j).
void start_offsets(const float* compute_ms, const float* backward_ms, int devices,
                   float* start_offsets_ms);

/// Cost of the slowest device; infinite if that of any device is beyond kMaxCostMs or not a number.
[[nodiscard]] double slowest_device_ms(const float* compute_ms, const float* backward_ms,
                                       const float* forward_ms, int devices);

/// Final costs of batches of finished placements. One per thread.
class FinalCostRunner {
 public:
  FinalCostRunner(const CpuKernels& kernels, const PackedCommModel& comm, int devices);

  /// `compute_ms`, `dim_sums`: [rows, devices]; `cost_ms`: [rows].
  void run(const float* compute_ms, const float* dim_sums, int rows, double* cost_ms);

 private:
  int devices_;
  CommRunner forward_;
  CommRunner backward_;
  AlignedVector<float> backward_ms_;
  AlignedVector<float> start_offsets_ms_;
  AlignedVector<float> forward_ms_;
};

}  // namespace neuroshard
