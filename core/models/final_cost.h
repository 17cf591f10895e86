#pragma once

#include <span>

#include "neuroshard/cost_runner.h"

namespace neuroshard {

/// Start offset of each device's forward all-to-all, [devices], from its compute and backward costs
/// (ms): how much later than the first device it is ready, c_r + b_r - min over j of (c_j + b_j).
void start_offsets(const float* compute_ms, const float* backward_ms, int devices,
                   float* start_offsets_ms);

/// Cost of the slowest device; infinite if that of any device is beyond kMaxCostMs or not a number.
[[nodiscard]] double slowest_device_ms(const float* compute_ms, const float* backward_ms,
                                       const float* forward_ms, int devices);

/// Costs of both all-to-alls of one placement; spans are [devices]. `offsets_ms` is scratch.
void exchange_costs(CostRunner& models, std::span<const float> dim_sums,
                    std::span<const float> compute_ms, std::span<float> offsets_ms,
                    std::span<float> backward_ms, std::span<float> forward_ms);

}  // namespace neuroshard
