#pragma once

#include <array>

#include "neuroshard/cost_models.h"

namespace neuroshard {

/// What all devices of a placement share as inputs of the symmetric communication network. Does not
/// depend on the order of the devices, to the last bit (docs/arithmetic.md, rule 8).
class SymmetricCommPool {
 public:
  /// `dim_sums`, `start_offsets_ms`: [devices]; null offsets are all 0. Dim sums are whole numbers.
  SymmetricCommPool(const float* dim_sums, const float* start_offsets_ms, int devices);

  /// Inputs for one device, not normalised.
  [[nodiscard]] std::array<float, kSymmetricCommFeatures> features(float dim_sum,
                                                                   float start_offset_ms) const {
    return {dim_sum,      start_offset_ms, mean_dim_sum_, max_dim_sum_,
            min_dim_sum_, mean_offset_,    max_offset_,   log2_devices_};
  }

 private:
  float mean_dim_sum_;
  float max_dim_sum_;
  float min_dim_sum_;
  float mean_offset_;
  float max_offset_;
  float log2_devices_;
};

}  // namespace neuroshard
