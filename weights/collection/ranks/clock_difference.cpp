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

std::chrono::nanoseconds clock_behind_rank_0(
    int rank, std::span<const int> machines,
    const std::function<ClockDifference(int other, int rounds)>& compare) {
  constexpr int kRounds = 10;
  std::chrono::nanoseconds behind{0};
  const int size = static_cast<int>(machines.size());
  for (int other = 1; other < size; ++other) {
    const bool near = machines[static_cast<std::size_t>(other)] == 0;
    if (near || (rank != 0 && rank != other)) continue;
    const ClockDifference difference = compare(other, kRounds);
    if (rank == other) behind = difference.ahead;
  }
  return behind;
}

}  // namespace neuroshard::ranks
