#include "neuroshard/node_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace neuroshard {
namespace {

constexpr NodeNetwork kKnown{8, {300.0, 25.0}};

std::vector<float> seen(const NodeColumns& nodes, const std::vector<float>& dim_sums) {
  std::vector<float> columns(dim_sums.size());
  nodes.see(dim_sums, columns);
  return columns;
}

TEST(NodeColumns, OfTheKnownNetworkAreAsTheyAre) {
  for (const int devices : {1, 2, 8, 16, 64, 1024}) {
    const NodeColumns nodes(kKnown, {300.0, 25.0, 0.0}, devices, 8);
    EXPECT_TRUE(nodes.same()) << devices;
    EXPECT_EQ(nodes.factor(), 1.0) << devices;
  }
}

TEST(NodeColumns, SlowerLinksTakeLonger) {
  // Links between nodes decide, and are five times as slow.
  const NodeColumns slow(kKnown, {300.0, 5.0, 0.0}, 64, 8);
  EXPECT_DOUBLE_EQ(slow.factor(), 5.0);
  EXPECT_TRUE(slow.same());
  // In the only node there is, those in it.
  EXPECT_DOUBLE_EQ(NodeColumns(kKnown, {31.25, 25.0, 1.0}, 8, 8).factor(), 9.6);
  // 8 devices share what one has by itself in the known network.
  const NodeColumns shared(kKnown, {300.0, 25.0, 25.0}, 64, 8);
  EXPECT_DOUBLE_EQ(shared.factor(), 8.0);
  EXPECT_FALSE(shared.same());
}

TEST(NodeColumns, ThatAreEqualAreSeenAsTheyAre) {
  for (const NodeLinks& links :
       {NodeLinks{300.0, 25.0, 25.0}, NodeLinks{10.0, 25.0, 50.0}, NodeLinks{300.0, 2.0, 400.0}}) {
    const NodeColumns nodes(kKnown, links, 32, 8);
    const std::vector<float> equal(32, 130.0F);
    EXPECT_EQ(seen(nodes, equal), equal);
    EXPECT_EQ(nodes.most_seen(std::vector<std::int64_t>(32, 130)), 130);
  }
}

TEST(NodeColumns, OfANodeThatSharesItsLinkAreItsMean) {
  // Devices by themselves would be 8 times as fast.
  const NodeColumns nodes(kKnown, {300.0, 25.0, 25.0}, 16, 8);
  std::vector<float> dim_sums(16, 0.0F);
  dim_sums[3] = 80.0F;
  dim_sums[15] = 400.0F;
  dim_sums[8] = 8.0F;
  const std::vector<float> columns = seen(nodes, dim_sums);
  for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(columns[d], 10.0F) << d;
  for (std::size_t d = 8; d < 16; ++d) EXPECT_EQ(columns[d], 51.0F) << d;
  EXPECT_EQ(nodes.most_seen(std::vector<std::int64_t>{0, 0, 0, 80, 0, 0, 0, 0,  //
                                                      8, 0, 0, 0, 0, 0, 0, 400}),
            51);
}

TEST(NodeColumns, OfADeviceThatHasMostOfItsNodeMayBeItsOwn) {
  // A device alone has a quarter of what its node has, so more than a quarter waits for itself.
  const NodeColumns nodes(kKnown, {300.0, 25.0, 100.0}, 16, 8);
  EXPECT_DOUBLE_EQ(nodes.factor(), 2.0);
  std::vector<float> dim_sums(16, 10.0F);
  dim_sums[0] = 90.0F;  // Its node has 160, of which the mean is 20.
  const std::vector<float> columns = seen(nodes, dim_sums);
  EXPECT_EQ(columns[0], 45.0F);
  EXPECT_EQ(columns[1], 20.0F);
  EXPECT_EQ(columns[9], 10.0F);
}

// Seen columns times the time of a column are the time of the slowest link of all, counted link by
// link. Nodes are as large as each other.
TEST(NodeColumns, AreAsManyAsTheSlowestLinkCarries) {
  std::mt19937_64 random(5);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  for (int trial = 0; trial < 300; ++trial) {
    const int per_node = 1 + below(8);
    const int devices = per_node * (1 + below(9));
    if (devices == 1) continue;
    const auto maybe = [&](int most) { return below(2) == 0 ? 0.0 : 1.0 + below(most); };
    NodeLinks links{1.0 + below(300), 1.0 + below(50), maybe(99), maybe(40), maybe(300)};
    // Blocks of two nodes, and of all, or of three times as many.
    for (const int block : {2 * per_node, devices, 3 * devices}) {
      const int inner = links.levels.empty() ? per_node : links.levels.back().devices;
      if (below(2) == 0 || block % inner != 0) continue;
      if (devices <= block || devices % block == 0) {
        links.levels.push_back({block, 0.5 + below(20)});
      }
    }
    const NodeColumns nodes(kKnown, links, devices, per_node);
    std::vector<float> dim_sums(static_cast<std::size_t>(devices));
    for (float& dims : dim_sums) dims = static_cast<float>(4 * below(100));
    std::vector<double> in_node(dim_sums.size());
    std::vector<double> between(dim_sums.size());
    std::vector<double> of_node(nodes.nodes());
    std::vector<double> through_host(nodes.nodes());
    for (int from = 0; from < devices; ++from) {
      for (int to = 0; to < devices; ++to) {
        if (from == to) continue;
        const auto sender = static_cast<std::size_t>(from);
        const bool same_node = from / per_node == to / per_node;
        (same_node ? in_node : between)[sender] += dim_sums[sender];
        (same_node ? through_host : of_node)[nodes.node_of(sender)] += dim_sums[sender];
      }
    }
    const auto rate = [](double devices_of_node) { return 0.75 - 0.32 / devices_of_node; };
    const double in_node_gb_s =
        links.peer_gb_s > 0.0
            ? std::min(links.in_node_gb_s, links.peer_gb_s * std::max(1, per_node - 1))
            : links.in_node_gb_s;
    double slowest =
        std::max(*std::ranges::max_element(in_node) / (rate(per_node) * in_node_gb_s),
                 *std::ranges::max_element(between) / (0.85 * links.between_nodes_gb_s));
    if (links.node_gb_s > 0.0) {
      slowest = std::max(slowest, *std::ranges::max_element(of_node) / (0.85 * links.node_gb_s));
    }
    if (links.host_gb_s > 0.0) {
      slowest = std::max(slowest, *std::ranges::max_element(through_host) / links.host_gb_s);
    }
    for (const LinkLevel& level : links.levels) {
      for (int from = 0; from < devices; ++from) {
        double beyond = 0.0;
        for (int to = 0; to < devices; ++to) {
          if (from / level.devices != to / level.devices) beyond += dim_sums[from];
        }
        slowest = std::max(slowest, beyond / (0.85 * level.gb_s));
      }
    }
    // A column of every device in the known network.
    const int known_nodes = (devices + 7) / 8;
    const double known_in_node = static_cast<double>(devices) / known_nodes;
    const double known = std::max((known_in_node - 1.0) / (rate(known_in_node) * 300.0),
                                  (devices - known_in_node) / (0.85 * 25.0));
    EXPECT_NEAR(std::ranges::max(seen(nodes, dim_sums)), slowest / known / nodes.factor(),
                1.0 / kPartsOfColumn);
  }
}

// As nodes in order, where these are full.
TEST(NodeColumns, FactorAnywhereIsOfNodesAsFullAsEachOther) {
  const NodeNetwork network{72, {900.0, 50.0, 0.0, 20.0}};
  for (const int devices : {2, 72, 144, 720}) {
    EXPECT_DOUBLE_EQ(NodeColumns::factor_anywhere(kKnown, network, devices),
                     NodeColumns(kKnown, network.links, devices, 72).factor())
        << devices;
  }
  EXPECT_EQ(NodeColumns::factor_anywhere(kKnown, network, 1), 1.0);
  // 80 devices are on two nodes of 40.
  EXPECT_DOUBLE_EQ(NodeColumns::factor_anywhere(kKnown, network, 80),
                   NodeColumns(kKnown, network.links, 80, 40).factor());
}

// It is sent as much as the others have.
TEST(NodeColumns, ASmallerNodeWaitsForWhatItIsSent) {
  const NodeColumns nodes(kKnown, {300.0, 25.0, 0.0}, 9, 8);
  const std::vector<float> equal(9, 100.0F);
  EXPECT_EQ(seen(nodes, equal)[8], 100.0F);
  std::vector<float> without = equal;
  without[8] = 0.0F;
  EXPECT_EQ(seen(nodes, without)[8], 100.0F);
  EXPECT_EQ(seen(nodes, without)[0], seen(nodes, equal)[0]);
}

TEST(NodeColumns, TheLastNodeMayBeSmaller) {
  const NodeColumns nodes(kKnown, {300.0, 25.0, 25.0}, 10, 4);
  EXPECT_EQ(nodes.nodes(), 3U);
  EXPECT_EQ(nodes.first_of(2), 8U);
  EXPECT_EQ(nodes.end_of(2), 10U);
  EXPECT_EQ(nodes.node_of(9), 2U);
  std::vector<float> dim_sums(10, 0.0F);
  dim_sums[9] = 64.0F;
  const std::vector<float> columns = seen(nodes, dim_sums);
  EXPECT_GT(columns[0], 0.0F);  // It is sent them.
  EXPECT_EQ(columns[8], columns[9]);
  EXPECT_GT(columns[9], 0.0F);
}

}  // namespace
}  // namespace neuroshard
