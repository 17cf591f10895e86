#pragma once

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// What each of five ranks of one machine sends and hears; called by each of them.
inline void expect_five_ranks_speak(RankGroup& group) {
  EXPECT_EQ(group.size(), 5);
  EXPECT_EQ(group.nodes(), 1);
  EXPECT_EQ(group.local_rank(), group.rank());
  EXPECT_EQ(group.local_size(), 5);
  std::array<int, 2> numbers = {group.rank() + 5, group.rank() * 7};
  group.broadcast(std::as_writable_bytes(std::span(numbers)));
  EXPECT_EQ(numbers, (std::array<int, 2>{5, 0}));
  const std::vector<double> ranks = group.gather(group.rank() + 0.5);
  EXPECT_EQ(ranks, group.rank() == 0 ? (std::vector<double>{0.5, 1.5, 2.5, 3.5, 4.5})
                                     : std::vector<double>{});
  EXPECT_TRUE(group.any(group.rank() == 2));
  EXPECT_FALSE(group.any(false));
}

}  // namespace neuroshard::ranks
