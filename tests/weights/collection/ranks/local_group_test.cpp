#include "weights/collection/ranks/local_group.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/error.h"
#include "repetitions.h"

namespace neuroshard::ranks {
namespace {

// Checks what each of five ranks of one machine sends and hears; called by each of them.
void expect_five_ranks_speak(RankGroup& group) {
  EXPECT_EQ(group.size(), 5);
  EXPECT_EQ(group.nodes(), 1);
  EXPECT_EQ(group.local_rank(), group.rank());
  std::array<int, 2> numbers = {group.rank() + 5, group.rank() * 7};
  group.broadcast(std::as_writable_bytes(std::span(numbers)));
  EXPECT_EQ(numbers, (std::array<int, 2>{5, 0}));
  const std::vector<double> ranks = group.gather(group.rank() + 0.5);
  EXPECT_EQ(ranks, group.rank() == 0 ? (std::vector<double>{0.5, 1.5, 2.5, 3.5, 4.5})
                                     : std::vector<double>{});
  EXPECT_TRUE(group.any(group.rank() == 2));
  EXPECT_FALSE(group.any(false));
}

// [from][to]: how many elements each rank sends each, fewer than `below`, which is at most a
// million.
using PartSizes = std::vector<std::vector<std::int64_t>>;
PartSizes random_part_sizes(int ranks, std::size_t below, Random& random) {
  const auto size = static_cast<std::size_t>(ranks);
  PartSizes sizes(size, std::vector<std::int64_t>(size));
  for (std::vector<std::int64_t>& of_rank : sizes) {
    for (std::int64_t& to_peer : of_rank) to_peer = static_cast<std::int64_t>(random.below(below));
  }
  return sizes;
}

// Sends and receives parts of these sizes; called by each rank.
void expect_each_gets_its_part(RankGroup& group, const PartSizes& sizes) {
  const auto element = [](int from, int to, std::int64_t i) {
    return from * 10'000'000 + to * 1'000'000 + static_cast<int>(i);
  };
  const auto own = static_cast<std::size_t>(group.rank());
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> from;
  std::vector<int> sent;
  std::vector<int> expected;
  for (int peer = 0; peer < group.size(); ++peer) {
    to.push_back(sizes[own][static_cast<std::size_t>(peer)]);
    from.push_back(sizes[static_cast<std::size_t>(peer)][own]);
    for (std::int64_t i = 0; i < to.back(); ++i) sent.push_back(element(group.rank(), peer, i));
    for (std::int64_t i = 0; i < from.back(); ++i) {
      expected.push_back(element(peer, group.rank(), i));
    }
  }
  std::vector<int> received(expected.size());
  group.all_to_all(sent.data(), PeerParts::packed(to), received.data(), PeerParts::packed(from),
                   sizeof(int));
  EXPECT_EQ(received, expected);
}

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

TEST(LocalGroup, AddsUpWhatAllHave) {
  for (const std::size_t count : {0U, 1U, 3U, 5U, 1000U}) {
    run_local_ranks(5, [&](RankGroup& group) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i) + 10.0F * static_cast<float>(group.rank());
      }
      group.all_reduce(values);
      // 0 + 10 + 20 + 30 + 40, whole numbers: sums of floats are exact.
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(values[i], 5.0F * static_cast<float>(i) + 100.0F);
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
