#include "weights/collection/analytic_comm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/models/link_rates.h"
#include "core/tables/kernel_rates.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

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

// Time of a device beyond its blocks of all levels but nodes. Blocks are equally large, and some
// device sends as much as any is sent.
double levels_ms(const NetworkSpec& network, double devices, double bytes_per_peer) {
  double longest_ms = 0.0;
  for (const LinkLevel& level : network.links.levels) {
    const double beyond = devices - std::min<double>(level.devices, devices);
    longest_ms =
        std::max(longest_ms, milliseconds(bytes_per_peer * beyond, level.gb_s * kBetweenNodesRate));
  }
  return longest_ms;
}

// All leave together: every device waits for data from the one that has most to send (forward)
// or for the one that has most to receive (backward; the same bytes the other way).
double exchange_anywhere_ms(const NetworkSpec& network, std::span<const std::int64_t> dim_sums,
                            double column_bytes) {
  const double count = static_cast<double>(dim_sums.size());
  const double total_dim = std::accumulate(dim_sums.begin(), dim_sums.end(), 0.0);
  const FilledNodes nodes(count, network.gpus_per_node);
  const double intra_peers = nodes.devices - 1.0;
  const double inter_peers = count - nodes.devices;
  const double intra_gb_per_s =
      in_node_gb_s(network.links, nodes.devices) * all_to_all_rate(nodes.devices);
  double transfer_ms = 0.0;
  for (const std::int64_t dim_sum : dim_sums) {
    const double own = static_cast<double>(dim_sum);
    const double others = count > 1.0 ? (total_dim - own) / (count - 1.0) : 0.0;
    const double bytes_per_peer = column_bytes * std::max(own, others);
    const double intra_ms = milliseconds(bytes_per_peer * intra_peers, intra_gb_per_s);
    const double inter_ms = milliseconds(bytes_per_peer * inter_peers,
                                         network.links.between_nodes_gb_s * kBetweenNodesRate);
    transfer_ms =
        std::max({transfer_ms, intra_ms, inter_ms, levels_ms(network, count, bytes_per_peer)});
  }
  return all_to_all_base_ms(nodes.count) + transfer_ms;
}

// Time of an exchange by what each device and each node really send and receive.
double exchange_in_order_ms(const NetworkSpec& network, std::span<const std::int64_t> dim_sums,
                            double column_bytes) {
  const std::size_t devices = dim_sums.size();
  const double total_dim = std::accumulate(dim_sums.begin(), dim_sums.end(), 0.0);
  const auto ms_of = [&](double columns, double gb_per_s) {
    return milliseconds(column_bytes * columns, gb_per_s);
  };
  double transfer_ms =
      levels_ms(network, static_cast<double>(devices),
                column_bytes * static_cast<double>(*std::ranges::max_element(dim_sums)));
  const auto per_node = static_cast<std::size_t>(network.gpus_per_node);
  for (std::size_t first = 0; first < devices; first += per_node) {
    const auto node = dim_sums.subspan(first, std::min(per_node, devices - first));
    const double of_node = std::accumulate(node.begin(), node.end(), 0.0);
    const double inside = static_cast<double>(node.size());
    const double intra_peers = inside - 1.0;
    const double inter_peers = static_cast<double>(devices) - inside;
    const double intra_gb_per_s = in_node_gb_s(network.links, inside) * all_to_all_rate(inside);
    for (const std::int64_t dim_sum : node) {
      const double own = static_cast<double>(dim_sum);
      const double within = std::max(own * intra_peers, of_node - own);
      const double beyond = std::max(own * inter_peers, total_dim - of_node);
      transfer_ms = std::max({transfer_ms, ms_of(within, intra_gb_per_s),
                              ms_of(beyond, network.links.between_nodes_gb_s * kBetweenNodesRate)});
    }
    if (network.links.host_gb_s > 0.0) {
      transfer_ms = std::max(transfer_ms, ms_of(of_node * intra_peers, network.links.host_gb_s));
    }
    if (network.links.node_gb_s > 0.0) {
      const double beyond = std::max(of_node * inter_peers, (total_dim - of_node) * inside);
      transfer_ms =
          std::max(transfer_ms, ms_of(beyond, network.links.node_gb_s * kBetweenNodesRate));
    }
  }
  return all_to_all_base_ms(
             FilledNodes(static_cast<double>(devices), network.gpus_per_node).count) +
         transfer_ms;
}

}  // namespace

NodeOrder order_of(const NetworkSpec& network) {
  return network.nodes().shares_links() ? NodeOrder::kInOrder : NodeOrder::kAny;
}

NetworkSpec network_of(NetworkSpec network, const Task& task) {
  if (!task.links) return network;
  network.gpus_per_node = task.devices_per_node;
  network.links = network.nodes().links_with(*task.links);
  return network;
}

CommCost analytic_comm(const NetworkSpec& network, std::span<const std::int64_t> dim_sums,
                       std::span<const double> start_offsets_ms, double batch, NodeOrder order,
                       const ExchangeTypes& exchange) {
  check(dim_sums, start_offsets_ms);
  const std::size_t devices = dim_sums.size();
  CommCost cost{std::vector<double>(devices, 0.0), std::vector<double>(devices, 0.0)};

  const double samples_each = batch / static_cast<double>(devices);  // Data-parallel part of each.
  const auto together_ms = [&](double column_bytes) {
    return order == NodeOrder::kAny
               ? exchange_anywhere_ms(network, dim_sums, column_bytes * samples_each)
               : exchange_in_order_ms(network, dim_sums, column_bytes * samples_each);
  };
  const double outputs_ms = together_ms(exchange.forward_column_bytes());
  const double gradients_ms = together_ms(exchange.backward_column_bytes());

  const double last_start = *std::max_element(start_offsets_ms.begin(), start_offsets_ms.end());
  for (std::size_t r = 0; r < devices; ++r) {
    cost.forward_ms[r] = last_start - start_offsets_ms[r] + outputs_ms;
    cost.backward_ms[r] = gradients_ms;
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

}  // namespace

double all_reduce_transfer_ms(const NetworkSpec& network, int devices, double bytes) {
  check_all_reduce(devices, bytes);
  if (devices == 1 || bytes == 0.0) return 0.0;
  const FilledNodes nodes(devices, network.gpus_per_node);
  return all_reduce_base_ms(nodes) + bytes / 1e6 * all_reduce_ms_per_mb(nodes, network.links);
}

namespace {

double passes_ms(const GpuSpec& gpu, double launches, double bytes) {
  return launches * kLaunchMs + milliseconds(bytes, gpu.hbm_gb_per_s * kCopyRate);
}

}  // namespace

double analytic_all_reduce(const GpuSpec& gpu, const NetworkSpec& network, int devices,
                           double bytes) {
  const double transfer_ms = all_reduce_transfer_ms(network, devices, bytes);
  if (bytes == 0.0) return 0.0;
  // Zero the gradient; read it and the weights, write the weights.
  return transfer_ms + passes_ms(gpu, kDenseLaunches, kDensePasses * bytes);
}

double analytic_replica_update(const GpuSpec& gpu, const NetworkSpec& network, int devices,
                               const ReplicaUpdate& update) {
  return all_reduce_transfer_ms(network, devices, update.gathered_bytes / 2.0) +
         passes_ms(gpu, update.launches, update.copied_bytes);
}

}  // namespace neuroshard
