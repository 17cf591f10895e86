#include "weights/collection/ranks/mpi_group.h"

#include <gtest/gtest.h>

#include <array>

#include "weights/collection/ranks/group.h"

namespace neuroshard::ranks {
namespace {

double nanoseconds(Clock::time_point time) {
  return std::chrono::duration<double, std::nano>(time.time_since_epoch()).count();
}

TEST(MpiGroup, IsOfOneMachine) {
  EXPECT_EQ(group().size(), 4);
  EXPECT_EQ(group().nodes(), 1);
  EXPECT_EQ(group().local_rank(), group().rank());
}

TEST(MpiGroup, SpeaksToAllAndHearsAll) {
  std::array<int, 2> numbers = {group().rank() + 5, group().rank() * 7};
  group().broadcast(std::as_writable_bytes(std::span(numbers)));
  EXPECT_EQ(numbers, (std::array<int, 2>{5, 0}));
  const std::vector<double> ranks = group().gather(group().rank() + 0.5);
  EXPECT_EQ(ranks, group().rank() == 0 ? (std::vector<double>{0.5, 1.5, 2.5, 3.5})
                                       : std::vector<double>{});
  EXPECT_TRUE(group().any(group().rank() == 2));
  EXPECT_FALSE(group().any(false));
}

TEST(MpiGroup, AgreesOnAnInstantThatIsBehindNobody) {
  constexpr std::chrono::nanoseconds kAhead{1000};
  for (int i = 0; i < 50; ++i) {
    const Clock::time_point before = Clock::now();
    const Clock::time_point start = group().common_start(kAhead);
    EXPECT_GE(start, before + kAhead);
    // All have one start: clocks of one machine are the same.
    const std::vector<double> starts = group().gather(nanoseconds(start));
    for (const double other : starts) EXPECT_EQ(other, starts[0]);
  }
}

TEST(MpiGroup, AddsUpWhatAllHave) {
  std::array<float, 3> values{1.0F, static_cast<float>(group().rank()), 0.5F};
  group().all_reduce(values);
  EXPECT_EQ(values, (std::array<float, 3>{4.0F, 6.0F, 2.0F}));
}

TEST(MpiGroup, FindsNoDifferenceBetweenClocksBeyondTheRoundTrip) {
  for (int other = 1; other < group().size(); ++other) {
    const auto difference = group().compare_clock_with(other, 20);
    if (group().rank() != other) continue;
    EXPECT_GT(difference.round_trip.count(), 0);
    EXPECT_LE(std::abs(difference.ahead.count()), difference.round_trip.count() / 2 + 1);
  }
}

TEST(MpiGroup, AgreesStillAfterComparingClocks) {
  group().compare_clocks();
  const auto starts = group().gather(nanoseconds(group().common_start({})));
  for (const double other : starts) EXPECT_EQ(other, starts[0]);
}

}  // namespace
}  // namespace neuroshard::ranks
