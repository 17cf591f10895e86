#pragma once

#include <compare>
#include <vector>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Blocks of devices beyond which links are slower, as racks of a pod, or pods.
struct LinkLevel {
  int devices = 0;    ///< Devices 0 to `devices` - 1 are a block, and so on.
  double gb_s = 0.0;  ///< A device to those of other blocks: its part of what its block has.

  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const LinkLevel&, const LinkLevel&) = default;
  friend bool operator==(const LinkLevel&, const LinkLevel&) = default;
};

/// Bandwidths of the links between the devices of a task, in GB/s (1e9 bytes) in each direction, as
/// on datasheets. A value of 0 is not stated: it is then that of the network that the cost models
/// are for, and rates after the first two are no limits.
struct NodeLinks {
  double in_node_gb_s = 0.0;        ///< A device to the others of its node.
  double between_nodes_gb_s = 0.0;  ///< A device to those of other nodes, by itself.
  double node_gb_s = 0.0;           ///< All devices of a node together to those of other nodes.
  double peer_gb_s = 0.0;           ///< A device to each other one of its node: no switch.
  /// All devices of a node together to each other, through their host. The value is the one
  /// reached, since no datasheet has it.
  double host_gb_s = 0.0;
  /// Levels beyond nodes, from the smallest blocks on: each has whole blocks of the one before, and
  /// the first has whole nodes. A task whose devices are more than a block fills blocks.
  std::vector<LinkLevel> levels{};

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const NodeLinks&, const NodeLinks&) = default;
  // Stated, since nvcc's host code warns that the implied one is never defined.
  friend bool operator==(const NodeLinks&, const NodeLinks&) = default;
};

/// Nodes with equally many devices, and the links that connect them. They are those of hardware,
/// for tasks that do not state their own, or of the machines that communication models were trained
/// on.
struct NodeNetwork {
  int devices_per_node = 0;
  NodeLinks links{};

  /// Whether devices have links in common, so that it matters which of them share a node.
  [[nodiscard]] bool shares_links() const { return links.node_gb_s > 0.0 || links.host_gb_s > 0.0; }
  /// Links with what `stated` states in the place of its own.
  [[nodiscard]] NodeLinks links_with(NodeLinks stated) const;

  friend bool operator==(const NodeNetwork&, const NodeNetwork&) = default;
};

inline constexpr double kLeastGbPerSecond = 1e-3;
inline constexpr double kMostGbPerSecond = 1e6;

}  // namespace neuroshard
#pragma GCC visibility pop
