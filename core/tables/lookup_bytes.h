#pragma once

#include "neuroshard/task.h"

namespace neuroshard {

inline constexpr double kIdBytes = 8.0;            ///< 64 bits, as they are looked up and kept.
inline constexpr double kLookupWeightBytes = 4.0;  ///< Used if Table::weighted: fp32.

/// An id, and its weight if lookups of the table have any.
[[nodiscard]] inline double lookup_bytes(const Table& table) {
  return kIdBytes + (table.weighted ? kLookupWeightBytes : 0.0);
}

}  // namespace neuroshard
