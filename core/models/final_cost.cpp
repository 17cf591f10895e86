#include "core/models/final_cost.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/models/cost_range.h"

namespace neuroshard {
namespace {

// Rows in flight: enough for the kernels, few enough to stay in the cache.
constexpr int kTargetFloats = 1 << 14;

int block_rows(int devices) { return std::max(1, kTargetFloats / devices); }

}  // namespace

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

FinalCostRunner::FinalCostRunner(const CpuKernels& kernels, const PackedCommModel& comm,
                                 int devices)
    : devices_(devices),
      forward_(kernels, comm.forward, devices),
      backward_(kernels, comm.backward, devices) {
  const auto floats =
      static_cast<std::size_t>(block_rows(devices)) * static_cast<std::size_t>(devices);
  backward_ms_.resize(floats);
  start_offsets_ms_.resize(floats);
  forward_ms_.resize(floats);
}

void FinalCostRunner::run(const float* compute_ms, const float* dim_sums, int rows,
                          double* cost_ms) {
  const int block = block_rows(devices_);
  for (int first = 0; first < rows; first += block) {
    const int count = std::min(block, rows - first);
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(first) * devices_;
    backward_.run(dim_sums + skip, nullptr, count, backward_ms_.data());
    for (int row = 0; row < count; ++row) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * devices_;
      start_offsets(compute_ms + skip + at, backward_ms_.data() + at, devices_,
                    start_offsets_ms_.data() + at);
    }
    forward_.run(dim_sums + skip, start_offsets_ms_.data(), count, forward_ms_.data());
    for (int row = 0; row < count; ++row) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * devices_;
      cost_ms[first + row] = slowest_device_ms(compute_ms + skip + at, backward_ms_.data() + at,
                                               forward_ms_.data() + at, devices_);
    }
  }
}

}  // namespace neuroshard
