#include "core/models/symmetric_comm_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/models/cost_range.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

std::int64_t offset_units(float offset_ms) {
  if (!(offset_ms > 0.0F)) return 0;  // NaN, too: such a placement is dropped anyway.
  // Rounds to the nearest integer, as std::llrint does, but without a call: doubles from 2^52 to
  // 2^53 are whole numbers, and their last 52 bits count up from 2^52.
  constexpr double kWhole = 0x1p52;
  static_assert(kMaxCostMs * kOffsetUnitsPerMs <= kWhole);
  const double units =
      std::min(static_cast<double>(offset_ms), kMaxCostMs) * kOffsetUnitsPerMs + kWhole;
  return std::bit_cast<std::int64_t>(units) - std::bit_cast<std::int64_t>(kWhole);
}

}  // namespace

SharedCommFeatures shared_comm_features(const float* dim_sums, const float* start_offsets_ms,
                                        int devices, float log2_devices) {
  std::int64_t dim_total = 0;  // In parts of a column.
  float max_dim = dim_sums[0];
  float min_dim = dim_sums[0];
  for (int d = 0; d < devices; ++d) {
    dim_total += static_cast<std::int64_t>(static_cast<double>(dim_sums[d]) * kPartsOfColumn);
    max_dim = std::max(max_dim, dim_sums[d]);
    min_dim = std::min(min_dim, dim_sums[d]);
  }
  std::int64_t offset_total = 0;
  float max_offset = 0.0F;
  for (int d = 0; start_offsets_ms != nullptr && d < devices; ++d) {
    offset_total += offset_units(start_offsets_ms[d]);
    max_offset = std::max(max_offset, start_offsets_ms[d]);
  }
  const double count = devices;
  return {static_cast<float>(static_cast<double>(dim_total) / kPartsOfColumn / count),
          max_dim,
          min_dim,
          static_cast<float>(static_cast<double>(offset_total) / kOffsetUnitsPerMs / count),
          max_offset,
          log2_devices};
}

float log2_of_devices(int devices) {
  devices = std::min(devices, kMostDevicesOfModels);
  if (devices > kDefaultDevicesPerNode) {
    const int nodes = (devices + kDefaultDevicesPerNode - 1) / kDefaultDevicesPerNode;
    devices = nodes * kDefaultDevicesPerNode;
  }
  return static_cast<float>(std::log2(devices));
}

}  // namespace neuroshard
