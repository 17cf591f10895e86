#include "neuroshard/node_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/models/link_rates.h"

namespace neuroshard {
namespace {

/// Time in proportion to which a device sends each of its columns to `devices` devices, of which
/// `in_node` share its node.
double own_time(double devices, double in_node, const NodeLinks& links) {
  return std::max(in_node_time(in_node, links), beyond_node_time(devices, in_node, links));
}

/// In nodes as full as each other.
double own_time(double devices, const NodeNetwork& network) {
  return own_time(devices, FilledNodes(devices, network.devices_per_node).devices, network.links);
}

}  // namespace

NodeColumns::NodeColumns(const NodeNetwork& known, const NodeLinks& links, int devices,
                         int devices_per_node)
    : devices_(devices),
      per_node_(static_cast<std::size_t>(std::min(devices_per_node, devices))),
      own_share_((static_cast<std::size_t>(devices) + per_node_ - 1) / per_node_, 1.0),
      node_share_(own_share_.size(), 0.0),
      receive_share_(own_share_.size(), 0.0) {
  const double count = devices;
  const double known_time = own_time(count, known);
  if (known_time == 0.0) return;  // One device.
  factor_ = 0.0;
  for (std::size_t node = 0; node < nodes(); ++node) {
    const auto size = static_cast<double>(end_of(node) - first_of(node));
    own_share_[node] = own_time(count, size, links) / known_time;
    node_share_[node] =
        std::max(shared_beyond_node_time(count, size, links), shared_in_node_time(size, links)) /
        known_time;
    if (static_cast<std::size_t>(devices) % per_node_ != 0) {
      const double node_time = links.node_gb_s > 0.0 ? size / links.node_gb_s : 0.0;
      receive_share_[node] =
          std::max(1.0 / links.between_nodes_gb_s, node_time) / kBetweenNodesRate / known_time;
    }
    factor_ = std::max({factor_, own_share_[node], size * node_share_[node]});
  }
  for (std::vector<double>* shares : {&own_share_, &node_share_, &receive_share_}) {
    for (double& share : *shares) share /= factor_;
  }
  same_ = std::ranges::all_of(own_share_, [](double share) { return share == 1.0; }) &&
          std::ranges::all_of(node_share_, [](double share) { return share == 0.0; });
}

double NodeColumns::factor_anywhere(const NodeNetwork& known, const NodeNetwork& network,
                                    int devices) {
  return devices == 1 ? 1.0 : own_time(devices, network) / own_time(devices, known);
}

void NodeColumns::see(std::span<const float> dim_sums, std::span<float> seen_columns) const {
  const double of_all = std::accumulate(dim_sums.begin(), dim_sums.end(), 0.0);
  for (std::size_t node = 0; node < nodes(); ++node) {
    const auto of_devices = dim_sums.subspan(first_of(node), end_of(node) - first_of(node));
    const double of_node = std::accumulate(of_devices.begin(), of_devices.end(), 0.0);
    for (std::size_t d = first_of(node); d < end_of(node); ++d) {
      seen_columns[d] = seen(node, static_cast<double>(dim_sums[d]), of_node, of_all);
    }
  }
}

std::int64_t NodeColumns::most_seen(std::span<const std::int64_t> lookups) const {
  const auto of_all =
      static_cast<double>(std::accumulate(lookups.begin(), lookups.end(), std::int64_t{0}));
  double most = 0.0;
  for (std::size_t node = 0; node < nodes(); ++node) {
    std::int64_t sum = 0;
    std::int64_t highest = 0;
    for (const std::int64_t of_device :
         lookups.subspan(first_of(node), end_of(node) - first_of(node))) {
      sum += of_device;
      highest = std::max(highest, of_device);
    }
    most = std::max(
        most, unrounded(node, static_cast<double>(highest), static_cast<double>(sum), of_all));
  }
  return std::llround(most);
}

}  // namespace neuroshard
