#pragma once

namespace neuroshard {

/// No device takes longer (ms): fifty days. A prediction beyond it, or one that is not a number,
/// says that the numbers of a model overflow. A placement with such a device counts as infinitely
/// costly in searches, and is an error in results.
inline constexpr double kMaxCostMs = 4294967296.0;

/// False for NaN as well.
[[nodiscard]] constexpr bool is_cost(double ms) { return ms >= -kMaxCostMs && ms <= kMaxCostMs; }

}  // namespace neuroshard
