#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include "weights/collection/ranks/exchange.h"

namespace neuroshard::ranks {

/// Difference by which another rank's clock is ahead of this rank's.
struct ClockDifference {
  std::chrono::nanoseconds ahead{0};
  std::chrono::nanoseconds round_trip{0};
};

[[nodiscard]] inline std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

/// By the shortest of `rounds` round trips: `ask` asks the other rank what its clock shows
/// (nanoseconds), which it is taken to have read half-way.
[[nodiscard]] ClockDifference clock_difference(int rounds,
                                               const std::function<std::int64_t()>& ask);

/// Finds by how much rank 0's clock is ahead of that of `rank`; 0 on rank 0's machine. Called by
/// all ranks at once. `machines`: the lowest rank of the machine that each rank is on. `compare`
/// finds the difference for a rank of another machine; rank 0 and that rank call it together, one
/// rank after the other.
[[nodiscard]] std::chrono::nanoseconds clock_behind_rank_0(
    int rank, std::span<const int> machines,
    const std::function<ClockDifference(int other, int rounds)>& compare);

}  // namespace neuroshard::ranks
