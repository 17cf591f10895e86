#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
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

/// [from][to]: how many elements each rank sends each, fewer than `below`, which is at most a
/// million.
using PartSizes = std::vector<std::vector<std::int64_t>>;
inline PartSizes random_part_sizes(int ranks, std::size_t below, Random& random) {
  const auto size = static_cast<std::size_t>(ranks);
  PartSizes sizes(size, std::vector<std::int64_t>(size));
  for (std::vector<std::int64_t>& of_rank : sizes) {
    for (std::int64_t& to_peer : of_rank) to_peer = static_cast<std::int64_t>(random.below(below));
  }
  return sizes;
}

/// Sends and receives parts of these sizes; called by each rank.
inline void expect_each_gets_its_part(RankGroup& group, const PartSizes& sizes) {
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

}  // namespace neuroshard::ranks
