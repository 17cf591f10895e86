#include "weights/collection/analytic_comm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "neuroshard/error.h"
#include "weights/collection/sample_draws.h"

namespace neuroshard {
namespace {

CommDraw draw(int devices, Random& random) {
  CommDrawOptions options;
  options.devices = devices;
  return draw_comm(options, random);
}

TEST(AnalyticComm, WithinANodeIsTheLargestMessageOverBandwidth) {
  const NetworkSpec network{"test", 8, {100.0, 1.0}};
  const std::vector<std::int64_t> dims{100, 300, 200, 200};
  const std::vector<double> offsets{0.0, 2.0, 5.0, 1.0};
  const CommCost cost = analytic_comm(network, dims, offsets, 65536);
  const double transfer_ms = 3.0 * 65536.0 / 4.0 * 4.0 * 300.0 / (0.67 * 100.0 * 1e6);
  const double together_ms = 0.035 + transfer_ms;
  for (int r = 0; r < 4; ++r) {
    EXPECT_NEAR(cost.forward_ms[r], 5.0 - offsets[r] + together_ms, 1e-9);
    EXPECT_NEAR(cost.backward_ms[r], together_ms, 1e-9);
  }
}

// Byte by byte, from every device to every other one.
TEST(AnalyticComm, InOrderIsWhatTheSlowestLinkCarries) {
  Random random(3, 1);
  for (int trial = 0; trial < 100; ++trial) {
    const int per_node = 1 + static_cast<int>(random.below(8));
    int devices = 1 + static_cast<int>(random.below(30));
    NetworkSpec network{
        "test",
        per_node,
        {50.0 + static_cast<double>(random.below(100)), 5.0 + static_cast<double>(random.below(50)),
         static_cast<double>(random.below(3)) * 40.0, static_cast<double>(random.below(2)) * 12.0,
         static_cast<double>(random.below(3)) * 70.0}};
    if (random.below(2) == 0) {  // Two nodes of a block.
      const int block = 2 * per_node;
      devices = block * (1 + static_cast<int>(random.below(3)));
      network.links.levels = {{block, 1.0 + static_cast<double>(random.below(40))}};
    }
    std::vector<std::int64_t> dims(static_cast<std::size_t>(devices));
    for (std::int64_t& dim : dims) dim = static_cast<std::int64_t>(4 * random.below(200));
    // GB that a device, or a node, sends and receives.
    std::vector<double> in_node_out(dims.size());
    std::vector<double> in_node_in(dims.size());
    std::vector<double> beyond_out(dims.size());
    std::vector<double> beyond_in(dims.size());
    std::vector<double> node_out(dims.size());
    std::vector<double> node_in(dims.size());
    std::vector<double> through_host(dims.size());
    std::vector<double> block_out(dims.size());
    std::vector<double> block_in(dims.size());
    for (int from = 0; from < devices; ++from) {
      for (int to = 0; to < devices; ++to) {
        if (from == to) continue;
        const double gb = 65536.0 / devices * 4.0 * static_cast<double>(dims[from]) / 1e9;
        const bool same_node = from / per_node == to / per_node;
        (same_node ? in_node_out : beyond_out)[from] += gb;
        (same_node ? in_node_in : beyond_in)[to] += gb;
        if (from / (2 * per_node) != to / (2 * per_node)) {
          block_out[from] += gb;
          block_in[to] += gb;
        }
        if (same_node) through_host[from / per_node] += gb;
        if (same_node) continue;
        node_out[from / per_node] += gb;
        node_in[to / per_node] += gb;
      }
    }
    double seconds = 0.0;
    for (int d = 0; d < devices; ++d) {
      const int node = d / per_node;
      const int in_node = std::min(per_node, devices - node * per_node);
      double in_node_gb_s = network.links.in_node_gb_s;
      if (network.links.peer_gb_s > 0.0) {
        in_node_gb_s = std::min(in_node_gb_s, network.links.peer_gb_s * std::max(1, in_node - 1));
      }
      for (const double gb : {in_node_out[d], in_node_in[d]}) {
        seconds = std::max(seconds, gb / ((0.75 - 0.32 / in_node) * in_node_gb_s));
      }
      if (network.links.host_gb_s > 0.0) {
        seconds = std::max(seconds, through_host[node] / network.links.host_gb_s);
      }
      for (const double gb : {beyond_out[d], beyond_in[d]}) {
        seconds = std::max(seconds, gb / (0.85 * network.links.between_nodes_gb_s));
      }
      for (const LinkLevel& level : network.links.levels) {
        seconds = std::max(seconds, std::max(block_out[d], block_in[d]) / (0.85 * level.gb_s));
      }
      for (const double gb : {node_out[node], node_in[node]}) {
        if (network.links.node_gb_s > 0.0) {
          seconds = std::max(seconds, gb / (0.85 * network.links.node_gb_s));
        }
      }
    }
    const double longest_ms = (devices > per_node ? 0.075 : 0.035) + 1e3 * seconds;
    const CommCost cost =
        analytic_comm(network, dims, std::vector<double>(dims.size()), 65536, NodeOrder::kInOrder);
    for (const double ms : cost.backward_ms) EXPECT_NEAR(ms, longest_ms, 1e-9 * longest_ms);
    EXPECT_EQ(cost.forward_ms, cost.backward_ms);
  }
}

TEST(AnalyticComm, NetworksAreTheTasksIfItStatesLinks) {
  Task task{.tables = {}, .devices = 16, .devices_per_node = 4};
  const NetworkSpec& known = network_named(kDefaultNetwork);
  EXPECT_EQ(network_of(known, task).gpus_per_node, 8);
  task.links = NodeLinks{.between_nodes_gb_s = 7.0, .node_gb_s = 9.0};
  const NetworkSpec stated = network_of(known, task);
  EXPECT_EQ(stated.gpus_per_node, 4);
  EXPECT_EQ(stated.links.in_node_gb_s, known.links.in_node_gb_s);
  EXPECT_EQ(stated.links.between_nodes_gb_s, 7.0);
  EXPECT_EQ(stated.links.node_gb_s, 9.0);
}

TEST(AnalyticComm, OrderCountsWhereNodesShareLinks) {
  EXPECT_EQ(order_of(network_named("h100")), NodeOrder::kAny);
  EXPECT_EQ(order_of(network_named("gb200")), NodeOrder::kAny);
  EXPECT_EQ(order_of(network_named("mi300x")), NodeOrder::kAny);
  for (const char* pcie : {"l40s", "a10", "t4"}) {
    EXPECT_EQ(order_of(network_named(pcie)), NodeOrder::kInOrder) << pcie;
  }
  // Two devices of a mesh have one of its links.
  const NetworkSpec mesh{"test", 8, {448.0, 50.0, 0.0, 64.0}};
  const NetworkSpec one_link{"test", 8, {64.0, 50.0}};
  EXPECT_EQ(
      analytic_comm(mesh, std::vector<std::int64_t>{80, 40}, std::vector<double>(2)).backward_ms,
      analytic_comm(one_link, std::vector<std::int64_t>{80, 40}, std::vector<double>(2))
          .backward_ms);
}

const GpuSpec kGpu{"test", 1000.0, 1e7, 100, 1.5};
constexpr double kDense = 2 * 0.004 + 4.0 * 1e9 / (0.9 * 1000.0 * 1e6);

TEST(AnalyticAllReduce, IsRingsWithinANode) {
  const NetworkSpec network{"test", 8, {100.0, 10.0}};
  EXPECT_NEAR(analytic_all_reduce(kGpu, network, 4, 1e9),
              0.0325 + 2.0 * 1e9 * 0.75 / (0.587 * 100.0 * 1e6) + kDense, 1e-9);
}

TEST(AnalyticAllReduce, IsTheLongerOfRingsAndOfTreesOfADevicesPartBetweenNodes) {
  const double within_ms = 2.0 * 1e9 * 7.0 / 8.0 / (0.79 * 100.0 * 1e6);
  const double between_ms = 2.0 * 1e9 / 8.0 * 7.0 / 8.0 / (0.85 * 10.0 * 1e6);
  EXPECT_NEAR(analytic_all_reduce(kGpu, {"test", 8, {100.0, 10.0}}, 64, 1e9),
              0.043 + 0.015 + between_ms + kDense, 1e-9);
  EXPECT_NEAR(analytic_all_reduce(kGpu, {"test", 8, {100.0, 20.0}}, 64, 1e9),
              0.043 + 0.015 + within_ms + kDense, 1e-9);
}

TEST(AnalyticAllReduce, NodesShareTheirLinks) {
  const NetworkSpec own{"test", 8, {100.0, 10.0, 80.0}};
  const NetworkSpec shared{"test", 8, {100.0, 10.0, 16.0}};
  const NetworkSpec slow{"test", 8, {100.0, 2.0}};
  EXPECT_EQ(analytic_all_reduce(kGpu, own, 64, 1e9),
            analytic_all_reduce(kGpu, {"test", 8, {100.0, 10.0}}, 64, 1e9));
  EXPECT_EQ(analytic_all_reduce(kGpu, shared, 64, 1e9), analytic_all_reduce(kGpu, slow, 64, 1e9));
}

// 64 devices in 2 blocks of 4 nodes of 8: the part of a device of a block goes beyond it.
TEST(AnalyticAllReduce, LevelsCarryThePartOfADeviceOfABlock) {
  NetworkSpec network{"test", 8, {1e6, 1e6}};
  network.links.levels = {{32, 0.5}};
  EXPECT_NEAR(all_reduce_transfer_ms(network, 64, 1e9) - all_reduce_transfer_ms(network, 64, 1e-9),
              2.0 * 1e9 / 32.0 / 2.0 / (0.85 * 0.5 * 1e6), 1e-6);
  // A block that holds all makes no difference.
  const NetworkSpec without{"test", 8, {1e6, 1e6}};
  EXPECT_EQ(all_reduce_transfer_ms(network, 32, 1e9), all_reduce_transfer_ms(without, 32, 1e9));
}

TEST(AnalyticAllReduce, RingsGoThroughTheHost) {
  // Each of 4 devices sends 3/4 of the bytes twice, over 12 GB/s that they share.
  EXPECT_NEAR(analytic_all_reduce(kGpu, {"test", 8, {100.0, 10.0, 0.0, 0.0, 12.0}}, 4, 1e9),
              0.0325 + 2.0 * 3.0 * 1e9 / (12.0 * 1e6) + kDense, 1e-9);
}

TEST(AnalyticAllReduce, OneDeviceUpdatesAndNothingCostsNothing) {
  const NetworkSpec network{"test", 8, {100.0, 10.0}};
  EXPECT_NEAR(analytic_all_reduce(kGpu, network, 1, 1e9), kDense, 1e-9);
  EXPECT_EQ(all_reduce_transfer_ms(network, 1, 1e9), 0.0);
  EXPECT_NEAR(all_reduce_transfer_ms(network, 64, 1e9),
              analytic_all_reduce(kGpu, network, 64, 1e9) - kDense, 1e-9);
  EXPECT_EQ(analytic_all_reduce(kGpu, network, 64, 0.0), 0.0);
  EXPECT_THROW((void)analytic_all_reduce(kGpu, network, 0, 1.0), Error);
  EXPECT_THROW((void)analytic_all_reduce(kGpu, network, kMaxDevices + 1, 1.0), Error);
  EXPECT_THROW((void)analytic_all_reduce(kGpu, network, 8, -1.0), Error);
  EXPECT_THROW((void)analytic_all_reduce(kGpu, network, 8, std::nan("")), Error);
}

// Each device gets what the others have: (D - 1) / D of all bytes.
TEST(AnalyticGather, IsARingAllGatherAndAnUpdate) {
  const NetworkSpec network{"test", 8, {100.0, 10.0}};
  const ReplicaUpdate update{.gathered_bytes = 1e9, .copied_bytes = 2e9, .launches = 8.0};
  const double update_ms = 8 * 0.004 + 2e9 / (0.9 * 1000.0 * 1e6);
  EXPECT_NEAR(analytic_replica_update(kGpu, network, 4, update),
              0.0325 + 1e9 * 0.75 / (0.587 * 100.0 * 1e6) + update_ms, 1e-9);
  // Between nodes each device gets what its like of the others have: 7 of 8 parts of an eighth.
  EXPECT_NEAR(analytic_replica_update(kGpu, network, 64, update),
              0.043 + 0.015 + 1e9 / 8.0 * 7.0 / 8.0 / (0.85 * 10.0 * 1e6) + update_ms, 1e-9);
  EXPECT_NEAR(analytic_replica_update(kGpu, network, 1, update), update_ms, 1e-9);
  EXPECT_EQ(analytic_replica_update(kGpu, network, 8, {}), 0.0);
  EXPECT_THROW((void)analytic_replica_update(kGpu, network, 0, update), Error);
}

// A model of all-reduces that is exact knows gathers.
TEST(AnalyticGather, IsWhatTheModelOfAllReducesSays) {
  const NetworkSpec network{"test", 8, {100.0, 10.0}};
  CollectiveModel model;
  for (const int devices : {1, 4, 64}) {
    const double latency_ms = analytic_all_reduce(kGpu, network, devices, 1e-9);
    const double gib = static_cast<double>(bytes_from_gib(1.0));
    model.lines[devices] = {latency_ms,
                            analytic_all_reduce(kGpu, network, devices, gib) - latency_ms};
  }
  for (const int devices : {1, 4, 64}) {
    const ReplicaUpdate update{.gathered_bytes = 3e8, .copied_bytes = 1e9, .launches = 7.0};
    EXPECT_NEAR(replica_update_ms(model, devices, update),
                analytic_replica_update(kGpu, network, devices, update), 1e-9);
  }
}

TEST(AnalyticComm, AnotherBatchIsOtherBytes) {
  const NetworkSpec network{"test", 8, {100.0, 1.0}};
  const std::vector<double> offsets{0.0, 2.0};
  const auto more_columns = analytic_comm(network, std::vector<std::int64_t>{400, 800}, offsets);
  const auto more_samples =
      analytic_comm(network, std::vector<std::int64_t>{100, 200}, offsets, 4 * 65536);
  EXPECT_EQ(more_samples.forward_ms, more_columns.forward_ms);
}

TEST(AnalyticComm, TypesOnTheWireAreOtherBytesByDirection) {
  const NetworkSpec network{"test", 2, {100.0, 10.0, 15.0}};
  const std::vector<double> offsets{0.0, 2.0, 0.5, 1.0};
  const std::vector<std::int64_t> dims{100, 200, 0, 300};
  const ExchangeTypes types{
      .forward = WireType::kFp16, .backward = WireType::kFp8, .forward_share = 0.25};
  for (const NodeOrder order : {NodeOrder::kAny, NodeOrder::kInOrder}) {
    const CommCost narrow = analytic_comm(network, dims, offsets, 65536, order, types);
    EXPECT_EQ(narrow.forward_ms, analytic_comm(network, dims, offsets, 8192, order).forward_ms);
    EXPECT_EQ(narrow.backward_ms, analytic_comm(network, dims, offsets, 16384, order).backward_ms);
  }
}

TEST(AnalyticComm, BetweenNodesIsBoundByTheSlowerLinks) {
  const NetworkSpec network{"test", 8, {100.0, 10.0}};
  const std::vector<std::int64_t> dims(16, 100);
  const std::vector<double> offsets(16, 0.0);
  const double peer_bytes = 65536.0 / 16.0 * 4.0 * 100.0;
  EXPECT_NEAR(analytic_comm(network, dims, offsets).backward_ms[0],
              0.075 + 8.0 * peer_bytes / (0.85 * 10.0 * 1e6), 1e-9);
}

TEST(AnalyticComm, PermutingTheDevicesPermutesTheCosts) {
  Random random(5);
  for (const NetworkSpec& network : known_networks()) {
    for (const int devices : {2, 3, 8, 16, 37, 128, 1024}) {
      SCOPED_TRACE(devices);
      CommDraw sample = draw(devices, random);
      const CommCost cost = analytic_comm(network, sample.dim_sums, sample.start_offsets_ms);
      std::vector<double> expected = cost.forward_ms;
      std::reverse(sample.dim_sums.begin(), sample.dim_sums.end());
      std::reverse(sample.start_offsets_ms.begin(), sample.start_offsets_ms.end());
      std::reverse(expected.begin(), expected.end());
      const CommCost reversed = analytic_comm(network, sample.dim_sums, sample.start_offsets_ms);
      EXPECT_EQ(reversed.forward_ms, expected);
      EXPECT_EQ(reversed.backward_ms, cost.backward_ms);
    }
  }
}

TEST(AnalyticComm, PunishesImbalance) {
  const NetworkSpec& network = network_named(kDefaultNetwork);
  const std::vector<double> offsets(4, 0.0);
  const std::vector<std::int64_t> even{200, 200, 200, 200};
  const std::vector<std::int64_t> uneven{100, 100, 100, 500};
  EXPECT_LT(analytic_comm(network, even, offsets).forward_ms[0],
            analytic_comm(network, uneven, offsets).forward_ms[0]);
}

TEST(AnalyticComm, OfOneDeviceIsOnlyTheLaunch) {
  const std::vector<std::int64_t> dims{128};
  const std::vector<double> offsets{0.0};
  const CommCost cost = analytic_comm(network_named(kDefaultNetwork), dims, offsets);
  EXPECT_EQ(cost.forward_ms[0], 0.035);
}

TEST(AnalyticComm, RefusesWhatIsNotAPlacement) {
  const NetworkSpec& network = network_named(kDefaultNetwork);
  const std::vector<std::int64_t> dims{4, 8};
  const std::vector<std::int64_t> negative{4, -8};
  const std::vector<double> offsets{0.0, 0.0};
  const std::vector<double> one{0.0};
  const std::vector<double> nan{0.0, std::nan("")};
  EXPECT_THROW((void)analytic_comm(network, {}, {}), Error);
  EXPECT_THROW((void)analytic_comm(network, dims, one), Error);
  EXPECT_THROW((void)analytic_comm(network, negative, offsets), Error);
  EXPECT_THROW((void)analytic_comm(network, dims, nan), Error);
  EXPECT_THROW((void)network_named("string and cans"), Error);
}

}  // namespace
}  // namespace neuroshard
