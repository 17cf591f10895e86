#include "weights/collection/ranks/local_group.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "core/random.h"
#include "neuroshard/error.h"
#include "repetitions.h"
#include "weights/collection/ranks/expected_of_ranks.h"

namespace neuroshard::ranks {
namespace {

TEST(LocalGroup, SpeaksToAllAndHearsAll) { run_local_ranks(5, expect_five_ranks_speak); }

TEST(LocalGroup, AgreesOnAnInstantThatIsBehindNobody) {
  run_local_ranks(3, [](RankGroup& group) {
    for (int i = 0; i < 20; ++i) {
      constexpr std::chrono::nanoseconds kAhead{1000};
      const Clock::time_point before = Clock::now();
      const Clock::time_point start = group.common_start(kAhead);
      EXPECT_GE(start, before + kAhead);
      const auto starts =
          group.gather(std::chrono::duration<double>(start.time_since_epoch()).count());
      for (const double other : starts) EXPECT_EQ(other, starts[0]);
    }
  });
}

TEST(LocalGroup, SendsEachRankItsPart) {
  for (std::uint64_t seed = 0; seed < neuroshard::testing::repetitions(20); ++seed) {
    Random random(seed);
    const PartSizes sizes = random_part_sizes(4, 5, random);
    run_local_ranks(4, [&](RankGroup& group) { expect_each_gets_its_part(group, sizes); });
  }
}

TEST(LocalGroup, AddsUpTheSameOnAll) {
  for (const std::size_t count : {0U, 1U, 3U, 1000U}) {
    run_local_ranks(4, [&](RankGroup& group) {
      std::vector<float> values(count);
      std::iota(values.begin(), values.end(), static_cast<float>(group.rank()));
      group.add_up(values);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(values[i], 4.0F * static_cast<float>(i) + 6.0F);
      }
    });
  }
}

TEST(LocalGroup, AFailureEndsAllRanksAndIsWhatTheCallerGets) {
  for (int failing = 0; failing < 4; ++failing) {
    int ended = 0;
    std::mutex mutex;
    const auto work = [&](RankGroup& group) {
      for (int i = 0; i < 10; ++i) {
        if (i == 5 && group.rank() == failing) throw std::out_of_range("of rank");
        try {
          (void)group.any(false);
        } catch (const Error&) {
          const std::lock_guard lock(mutex);
          ++ended;
          throw;
        }
      }
      ADD_FAILURE() << "rank " << group.rank() << " went on";
    };
    EXPECT_THROW(run_local_ranks(4, work), std::out_of_range);
    EXPECT_EQ(ended, 3);
  }
}

TEST(LocalGroup, ARankThatHasReturnedIsMissedByThoseThatWaitForIt) {
  for (int returning = 0; returning < 3; ++returning) {
    const auto work = [&](RankGroup& group) {
      (void)group.any(false);
      if (group.rank() == returning) return;
      (void)group.gather(1.0);
      ADD_FAILURE() << "rank " << group.rank() << " went on";
    };
    EXPECT_THROW(run_local_ranks(3, work), Error);
  }
}

}  // namespace
}  // namespace neuroshard::ranks
