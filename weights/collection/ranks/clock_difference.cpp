#include "weights/collection/ranks/clock_difference.h"

namespace neuroshard::ranks {

ClockDifference clock_difference(int rounds, const std::function<std::int64_t()>& ask) {
  ClockDifference best{{}, std::chrono::nanoseconds::max()};
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t before = nanoseconds_now();
    const std::int64_t theirs = ask();
    const std::int64_t after = nanoseconds_now();
    if (after - before >= best.round_trip.count()) continue;
    best.round_trip = std::chrono::nanoseconds(after - before);
    best.ahead = std::chrono::nanoseconds(theirs - (before + (after - before) / 2));
  }
  return best;
}

}  // namespace neuroshard::ranks
