#pragma once

namespace neuroshard {

// docs/analytic_sources.md, "Passes over memory", has the sources.

// Shares of the datasheet's memory rate that kernels reach.
inline constexpr double kCopyRate = 0.9;     ///< One that reads and writes in order.
inline constexpr double kGatherRate = 0.63;  ///< One that looks up or updates rows.

inline constexpr double kLaunchMs = 0.004;

}  // namespace neuroshard
