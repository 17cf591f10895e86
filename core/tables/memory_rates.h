#pragma once

namespace neuroshard {

// Shares of the datasheet's memory rate that kernels reach. docs/analytic_costs.md has the sources.

inline constexpr double kCopyRate = 0.9;     ///< One that reads and writes in order.
inline constexpr double kGatherRate = 0.63;  ///< One that looks up or updates rows.

}  // namespace neuroshard
