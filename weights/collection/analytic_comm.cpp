#include "weights/collection/analytic_comm.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "neuroshard/error.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

// Assumptions that no datasheet gives; docs/analytic_costs.md discusses them.
constexpr double kReachableBandwidth = 0.8;  // Of the links, by an all-to-all of large messages.
constexpr double kBaseMs = 0.020;            // Launch and rendezvous.
constexpr double kIntraPeerMs = 0.001;       // For each peer in the node,
constexpr double kInterPeerMs = 0.0025;      // and outside it.
constexpr double kReachableHbm = 0.9;        // Of the datasheet's, by a plain copy.
constexpr double kUpdateLaunchMs = 0.004;    // Of a kernel.

double milliseconds(double bytes, double gb_per_s) { return bytes / (gb_per_s * 1e6); }

struct Nodes {
  double count;
  double devices;  ///< In one, on average: all are as full as each other.
};

Nodes nodes_of(const NetworkSpec& network, double devices) {
  const double count = std::ceil(devices / network.gpus_per_node);
  return {count, devices / count};
}

void check(std::span<const std::int64_t> dim_sums, std::span<const double> start_offsets_ms) {
  if (dim_sums.empty() || dim_sums.size() > static_cast<std::size_t>(kMaxDevices)) {
    throw Error("communication cost of " + std::to_string(dim_sums.size()) +
                " devices; give between 1 and " + std::to_string(kMaxDevices));
  }
  if (dim_sums.size() != start_offsets_ms.size()) {
    throw Error(std::to_string(dim_sums.size()) + " dim sums but " +
                std::to_string(start_offsets_ms.size()) +
                " start offsets; give one of each per device");
  }
  for (std::size_t r = 0; r < dim_sums.size(); ++r) {
    if (dim_sums[r] < 0 || !std::isfinite(start_offsets_ms[r]) || start_offsets_ms[r] < 0.0) {
      throw Error("device " + std::to_string(r) + ": dim sum " + std::to_string(dim_sums[r]) +
                  ", start offset " + std::to_string(start_offsets_ms[r]) +
                  " ms; both must be finite and not negative");
    }
  }
}

}  // namespace

CommCost analytic_comm(const NetworkSpec& network, std::span<const std::int64_t> dim_sums,
                       std::span<const double> start_offsets_ms, double batch) {
  check(dim_sums, start_offsets_ms);
  const std::size_t devices = dim_sums.size();
  CommCost cost{std::vector<double>(devices, 0.0), std::vector<double>(devices, 0.0)};

  std::int64_t total_dim = 0;
  for (const std::int64_t dim_sum : dim_sums) total_dim += dim_sum;
  const double count = static_cast<double>(devices);
  const double samples_each = batch / count;  // Data-parallel part of a device.

  const auto [nodes, in_node] = nodes_of(network, count);
  const double intra_peers = in_node - 1.0;
  const double inter_peers = count - in_node;

  // All leave together: every device waits for data from the one that has most to send (forward)
  // or for the one that has most to receive (backward; the same bytes the other way).
  double transfer_ms = 0.0;
  for (const std::int64_t dim_sum : dim_sums) {
    const double own = static_cast<double>(dim_sum);
    const double others =
        devices > 1 ? static_cast<double>(total_dim - dim_sum) / (count - 1.0) : 0.0;
    const double bytes_per_peer = 4.0 * samples_each * std::max(own, others);
    const double intra_ms =
        milliseconds(bytes_per_peer * intra_peers, network.intra_gb_per_s * kReachableBandwidth);
    const double inter_ms =
        milliseconds(bytes_per_peer * inter_peers, network.inter_gb_per_s * kReachableBandwidth);
    transfer_ms = std::max({transfer_ms, intra_ms, inter_ms});
  }
  const double latency_ms = kBaseMs + kIntraPeerMs * intra_peers + kInterPeerMs * inter_peers;
  const double together_ms = latency_ms + transfer_ms;

  const double last_start = *std::max_element(start_offsets_ms.begin(), start_offsets_ms.end());
  for (std::size_t r = 0; r < devices; ++r) {
    cost.forward_ms[r] = last_start - start_offsets_ms[r] + together_ms;
    cost.backward_ms[r] = together_ms;
  }
  return cost;
}

namespace {

void check_all_reduce(int devices, double bytes) {
  if (devices < 1 || devices > kMaxDevices) {
    throw Error("all-reduce of " + std::to_string(devices) + " devices; give between 1 and " +
                std::to_string(kMaxDevices));
  }
  if (!std::isfinite(bytes) || bytes < 0.0) {
    throw Error("all-reduce of " + std::to_string(bytes) +
                " bytes; give a number that is finite and not negative");
  }
}

/// Without the optimizer.
double all_reduce_transfer_ms(const NetworkSpec& network, int devices, double bytes) {
  if (devices == 1) return 0.0;
  const auto [nodes, in_node] = nodes_of(network, devices);
  // Rings in the node, reduce-scatter before and all-gather after; trees between the nodes, of each
  // device's part over its own adapter.
  const double in_ring = in_node - 1.0;
  const double intra_ms =
      milliseconds(2.0 * bytes * in_ring / in_node, network.intra_gb_per_s * kReachableBandwidth);
  const double inter_ms = milliseconds(2.0 * bytes / in_node * (nodes - 1.0) / nodes,
                                       network.inter_gb_per_s * kReachableBandwidth);
  const double latency_ms =
      kBaseMs + 2.0 * kIntraPeerMs * in_ring + 2.0 * kInterPeerMs * std::ceil(std::log2(nodes));
  return latency_ms + intra_ms + inter_ms;
}

double passes_ms(const GpuSpec& gpu, double launches, double bytes) {
  return launches * kUpdateLaunchMs + milliseconds(bytes, gpu.hbm_gb_per_s * kReachableHbm);
}

}  // namespace

double analytic_all_reduce(const GpuSpec& gpu, const NetworkSpec& network, int devices,
                           double bytes) {
  check_all_reduce(devices, bytes);
  if (bytes == 0.0) return 0.0;
  // Zero the gradient; read it and the weights, write the weights.
  const double dense_ms = passes_ms(gpu, kDenseLaunches, kDensePasses * bytes);
  return all_reduce_transfer_ms(network, devices, bytes) + dense_ms;
}

double analytic_gather(const GpuSpec& gpu, const NetworkSpec& network, int devices,
                       const GatherTraffic& traffic) {
  check_all_reduce(devices, traffic.gathered_bytes);
  if (traffic.gathered_bytes == 0.0) return 0.0;
  return all_reduce_transfer_ms(network, devices, traffic.gathered_bytes / 2.0) +
         passes_ms(gpu, traffic.launches, traffic.update_bytes);
}

}  // namespace neuroshard
