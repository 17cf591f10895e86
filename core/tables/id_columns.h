#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/host_device.h"

namespace neuroshard {

inline constexpr double kUnitsOfLookup = 1 << 20;
inline constexpr double kColumnsOfLookup = 2.0;
/// Networks see no more columns: narrow slices of many tables are sent ids like the gradients of
/// hundreds of thousands of columns, which no sample of training had.
inline constexpr double kMostIdColumns = 8192.0;

/// A device's slices are sent the ids of all samples, 8 bytes a lookup, as their gradients are, 4
/// bytes a column: so many columns come to the same bytes, rounded up.
[[nodiscard]] NEUROSHARD_HOST_DEVICE inline std::int64_t id_columns(std::int64_t lookup_units) {
  return static_cast<std::int64_t>(
      ceil(static_cast<double>(lookup_units) * (kColumnsOfLookup / kUnitsOfLookup)));
}

}  // namespace neuroshard
