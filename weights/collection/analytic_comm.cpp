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

double milliseconds(double bytes, double gb_per_s) { return bytes / (gb_per_s * 1e6); }

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
                       std::span<const double> start_offsets_ms, std::int64_t batch) {
  check(dim_sums, start_offsets_ms);
  const std::size_t devices = dim_sums.size();
  CommCost cost{std::vector<double>(devices, 0.0), std::vector<double>(devices, 0.0)};

  std::int64_t total_dim = 0;
  for (const std::int64_t dim_sum : dim_sums) total_dim += dim_sum;
  const double count = static_cast<double>(devices);
  const double samples_each =
      static_cast<double>(batch) / count;  // Data-parallel part of a device.

  // Nodes are as full as each other: `in_node` is the mean number of devices in one.
  const double nodes = std::ceil(count / network.gpus_per_node);
  const double in_node = count / nodes;
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

}  // namespace neuroshard
