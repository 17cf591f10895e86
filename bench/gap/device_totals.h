#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/models/comm_runner.h"
#include "core/placement/cpu_backend.h"

namespace neuroshard::bench {

/// Predicted cost of every device of a placement, to the last bit that of simulate(), for programs
/// that ask for one placement after the other and want to know early that one is too dear. One per
/// thread.
class DeviceTotals {
 public:
  /// Borrows `backend`. Throws Error if its models lack the device count.
  DeviceTotals(const CpuBackend& backend, int devices);

  /// Writes compute + backward + forward of each device (ms); all three are [devices]. False as
  /// soon as one exceeds `limit_ms`; not all totals are then written. `suspects`: devices to look
  /// at first, those most likely to exceed it; each at most once.
  [[nodiscard]] bool compute(std::span<const float> compute_ms, std::span<const float> dim_sums,
                             std::span<const std::uint32_t> suspects, double limit_ms,
                             std::span<double> total_ms);

 private:
  /// What the symmetric backward model said of a device; a placement that is close to the one
  /// before mostly asks what was asked before.
  struct Remembered {
    float dim_sum = -1.0F;
    float max_dim_sum = -1.0F;
    float min_dim_sum = -1.0F;
    float mean_dim_sum = -1.0F;
    float cost_ms = 0.0F;
  };

  void symmetric_backward(std::span<const float> dim_sums);
  [[nodiscard]] bool symmetric_forward(std::span<const float> compute_ms,
                                       std::span<const float> dim_sums,
                                       std::span<const std::uint32_t> suspects, double limit_ms,
                                       std::span<double> total_ms);

  const PackedCommModel& comm_;
  int devices_;
  CommRunner forward_;
  CommRunner backward_;
  MlpRunner symmetric_forward_;
  MlpRunner symmetric_backward_;
  std::vector<float> backward_ms_;
  std::vector<float> offsets_ms_;
  std::vector<float> forward_ms_;
  std::vector<std::uint32_t> asked_;  ///< Devices of the rows of `inputs_`.
  std::vector<char> done_;            ///< [devices]
  AlignedVector<float> inputs_;
  std::vector<float> outputs_;
  std::vector<Remembered> memory_;
};

}  // namespace neuroshard::bench
