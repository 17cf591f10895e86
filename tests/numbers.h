#pragma once

#include <limits>

namespace neuroshard::testing {

inline constexpr double kGib = 1073741824.0;  ///< In bytes.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace neuroshard::testing
