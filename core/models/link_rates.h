#pragma once

#include <algorithm>
#include <cmath>

#include "neuroshard/node_links.h"

namespace neuroshard {

// Collectives reach such shares of the rates of links on datasheets, and take so long without
// bytes. `in_node`: devices in a node, on average. docs/analytic_sources.md has the sources.

/// Devices are on as many nodes as they fill, all as full as each other.
struct FilledNodes {
  double count;
  double devices;  ///< In one, on average.

  FilledNodes(double devices_in_all, double devices_per_node)
      : count(std::ceil(devices_in_all / devices_per_node)), devices(devices_in_all / count) {}
};

inline constexpr double kBetweenNodesRate = 0.85;

/// A device reaches so much to all others of its node, by the datasheet.
[[nodiscard]] inline double in_node_gb_s(const NodeLinks& links, double in_node) {
  if (links.peer_gb_s == 0.0) return links.in_node_gb_s;
  return std::min(links.in_node_gb_s, links.peer_gb_s * std::max(1.0, in_node - 1.0));
}

[[nodiscard]] inline double all_to_all_rate(double in_node) { return 0.75 - 0.32 / in_node; }

/// Time in proportion to which a device sends each of its columns to the others of its node.
[[nodiscard]] inline double in_node_time(double in_node, const NodeLinks& links) {
  return (in_node - 1.0) / (in_node_gb_s(links, in_node) * all_to_all_rate(in_node));
}

/// And to those of other nodes, and of blocks of all levels.
[[nodiscard]] inline double beyond_node_time(double devices, double in_node,
                                             const NodeLinks& links) {
  const auto beyond = [&](double in_block, double gb_s) {
    return (devices - in_block) / (gb_s * kBetweenNodesRate);
  };
  double longest = beyond(in_node, links.between_nodes_gb_s);
  for (const LinkLevel& level : links.levels) {
    longest = std::max(longest, beyond(std::min<double>(level.devices, devices), level.gb_s));
  }
  return longest;
}

/// Such a time of a node whose devices share what connects it: of each column of any of them.
[[nodiscard]] inline double shared_in_node_time(double in_node, const NodeLinks& links) {
  return links.host_gb_s > 0.0 ? (in_node - 1.0) / links.host_gb_s : 0.0;
}
[[nodiscard]] inline double shared_beyond_node_time(double devices, double in_node,
                                                    const NodeLinks& links) {
  return links.node_gb_s > 0.0 ? (devices - in_node) / (links.node_gb_s * kBetweenNodesRate) : 0.0;
}

[[nodiscard]] inline double all_to_all_base_ms(double nodes) { return nodes > 1.0 ? 0.075 : 0.035; }

[[nodiscard]] inline double all_reduce_rate(double in_node) {
  return std::min(0.79, 0.375 + 0.053 * in_node);
}

[[nodiscard]] inline double all_reduce_base_ms(const FilledNodes& nodes) {
  return 0.022 + 0.0105 * std::max(0.0, std::log2(nodes.devices) - 1.0) +
         0.005 * std::ceil(std::log2(nodes.count));
}

/// Milliseconds that rings in nodes take of an all-reduce for each MB. Data between devices goes
/// through their host, if that has a limit. `links`: stated in full, but for what is no limit.
[[nodiscard]] inline double all_reduce_in_node_ms_per_mb(double n, const NodeLinks& links) {
  return 2.0 * std::max((n - 1.0) / n / (in_node_gb_s(links, n) * all_reduce_rate(n)),
                        shared_in_node_time(n, links));
}

/// And beyond the blocks of each level, where a device sends its part of what its block has.
[[nodiscard]] inline double all_reduce_between_ms_per_mb(const FilledNodes& nodes,
                                                         const NodeLinks& links) {
  const double n = nodes.devices;
  const double between_gb_s = links.node_gb_s > 0.0
                                  ? std::min(links.between_nodes_gb_s, links.node_gb_s / n)
                                  : links.between_nodes_gb_s;
  const auto beyond = [](const FilledNodes& blocks, double gb_s) {
    return (blocks.count - 1.0) / blocks.count / blocks.devices / (gb_s * kBetweenNodesRate);
  };
  double longest = beyond(nodes, between_gb_s);
  for (const LinkLevel& level : links.levels) {
    longest = std::max(longest, beyond(FilledNodes(nodes.count * n, level.devices), level.gb_s));
  }
  return 2.0 * longest;
}

/// All of it, at once.
[[nodiscard]] inline double all_reduce_ms_per_mb(const FilledNodes& nodes, const NodeLinks& links) {
  return std::max(all_reduce_in_node_ms_per_mb(nodes.devices, links),
                  all_reduce_between_ms_per_mb(nodes, links));
}

}  // namespace neuroshard
