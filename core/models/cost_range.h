#pragma once

namespace neuroshard {

/// No device takes longer (ms): fifty days. A prediction beyond it, or one that is not a number,
/// says that the numbers of a model overflow. A placement with such a device counts as infinitely
/// costly in searches, and is an error in results.
inline constexpr double kMaxCostMs = 4294967296.0;

/// False for NaN as well.
[[nodiscard]] constexpr bool is_cost(double ms) { return ms >= -kMaxCostMs && ms <= kMaxCostMs; }

/// Start offsets are added up as integers of this unit, since integer sums do not depend on the
/// order (docs/arithmetic.md, rule 8): 2^-20 ms, a nanosecond. 1,024 times kMaxCostMs stays within
/// 64 bits.
inline constexpr double kOffsetUnitsPerMs = 1048576.0;

}  // namespace neuroshard
