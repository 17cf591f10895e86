#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

/// What annealing (search/improvement/) draws and how it prices it: for all that run its chains,
/// so that they are the same to the last bit.
namespace neuroshard::annealing {

inline constexpr std::uint64_t kSeed = 0x6E736861;

/// Below this a plan is not better but rounded otherwise.
inline constexpr double kLeastGain = 1e-7;

/// Some ten microseconds, up to a hundred where a thousand devices are priced.
inline constexpr std::uint64_t kStepsBetweenStops = 16;

/// Softened, ids have their price after this share of the steps.
inline constexpr double kSoftIdsShare = 0.6;

/// Shares of the kinds of edits; the rest joins halves.
inline constexpr double kMoves = 0.2;
inline constexpr double kSwaps = 0.4;
inline constexpr double kSwapsForTwo = 0.1;
inline constexpr double kHalvings = 0.15;

/// Edits whose first slice is on a critical device.
inline constexpr double kAimed = 0.8;

inline constexpr int kTriesForWidth = 4;

/// Slices that an edit removes and adds, at most.
inline constexpr int kMostRemoved = 8;
inline constexpr int kMostAdded = 4;

/// Devices that a symmetric network is asked for: the two of an edit, and those that the plan waits
/// for: slowest, second slowest, last ready, first ready. All, if there are no more.
inline constexpr int kMostRows = 6;

/// With so few devices pricing all of them is as cheap as bookkeeping.
inline constexpr int kFewDevices = 16;
/// Edits between two synchronizations of more devices than that: one for so many devices, at least.
inline constexpr int kDevicesPerAccepted = 8;
inline constexpr int kLeastAccepted = 16;

/// A device that is ready later by x delays everybody by about x. Networks do not know that
/// exactly, so an edit is refused unseen only if already this share of it is too much.
inline constexpr double kCertainShareOfDelay = 0.25;

/// What the temperature is multiplied by from step to step.
inline double cooling(double hottest, double coldest, std::uint64_t steps) {
  return std::pow(coldest / hottest, 1.0 / static_cast<double>(std::max<std::uint64_t>(steps, 1)));
}
/// Steps until softened ids have their price.
inline double soft_steps(std::uint64_t steps) {
  return std::max(1.0, kSoftIdsShare * static_cast<double>(steps));
}

}  // namespace neuroshard::annealing
