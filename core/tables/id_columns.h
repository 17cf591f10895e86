#pragma once

#include <cmath>
#include <cstdint>

#include "neuroshard/exchange_types.h"

namespace neuroshard {

inline constexpr double kUnitsOfLookup = 1 << 20;
/// Networks are shown no more columns, of ids, and on average of what is not pooled: narrow slices
/// of many tables are sent ids like the gradients of hundreds of thousands of columns, which no
/// sample of training had.
inline constexpr double kMostSeenColumns = 8192.0;

/// A device's slices are sent the ids of all samples, as their gradients are: so many columns of
/// gradients come to the same bytes, rounded up.
[[nodiscard]] inline std::int64_t id_columns(std::int64_t lookup_units,
                                             const ExchangeTypes& types) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(lookup_units) * (types.columns_of_lookup() / kUnitsOfLookup)));
}

}  // namespace neuroshard
