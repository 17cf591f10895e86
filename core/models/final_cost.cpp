#include "core/models/final_cost.h"

#include <algorithm>
#include <limits>

#include "core/models/cost_range.h"

namespace neuroshard {

void start_offsets(const float* compute_ms, const float* backward_ms, int devices,
                   float* start_offsets_ms) {
  double first = std::numeric_limits<double>::infinity();
  for (int d = 0; d < devices; ++d) {
    first =
        std::min(first, static_cast<double>(compute_ms[d]) + static_cast<double>(backward_ms[d]));
  }
  for (int d = 0; d < devices; ++d) {
    const double ready = static_cast<double>(compute_ms[d]) + static_cast<double>(backward_ms[d]);
    start_offsets_ms[d] = static_cast<float>(ready - first);
  }
}

double slowest_device_ms(const float* compute_ms, const float* backward_ms, const float* forward_ms,
                         int devices) {
  double slowest = -std::numeric_limits<double>::infinity();
  for (int d = 0; d < devices; ++d) {
    const double cost = static_cast<double>(compute_ms[d]) + static_cast<double>(backward_ms[d]) +
                        static_cast<double>(forward_ms[d]);
    // max() alone would pass over NaN.
    slowest = std::max(slowest, is_cost(cost) ? cost : std::numeric_limits<double>::infinity());
  }
  return slowest;
}

void exchange_costs(CostRunner& models, std::span<const float> dim_sums,
                    std::span<const float> compute_ms, std::span<float> offsets_ms,
                    std::span<float> backward_ms, std::span<float> forward_ms) {
  models.backward(dim_sums, backward_ms);
  start_offsets(compute_ms.data(), backward_ms.data(), static_cast<int>(dim_sums.size()),
                offsets_ms.data());
  models.forward(dim_sums, offsets_ms, forward_ms);
}

}  // namespace neuroshard
