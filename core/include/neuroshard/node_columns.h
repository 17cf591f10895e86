#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/node_links.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Seen columns are multiples of one part in so many, so that sums of them do not depend on their
/// order.
inline constexpr double kPartsOfColumn = 16.0;

/// Columns as communication models see them where nodes are connected otherwise than in the network
/// that they were trained on. There, every device sends over links of its own, so that the one with
/// most columns decides. Here a device may have to wait for its node, too, and for what its node is
/// sent if not all nodes are as large as each other:
///
///     seen columns = max(own share * columns of the device, node share * columns of its node,
///                        receive share * columns of all other nodes)
///
/// Shares are such that equal columns are seen as they are; factor() says how much longer all of
/// them take. docs/analytic_costs.md derives it.
class NodeColumns {
 public:
  /// `links`: stated in full, but for what is no limit. Both numbers of devices are at least 1.
  NodeColumns(const NodeNetwork& known, const NodeLinks& links, int devices, int devices_per_node);

  /// factor() where nodes share no links and are as full as each other, whichever
  /// devices are in them: then devices see their own columns.
  [[nodiscard]] static double factor_anywhere(const NodeNetwork& known, const NodeNetwork& network,
                                              int devices);

  /// Time of bytes over their time in the known network, if all devices have equal columns.
  [[nodiscard]] double factor() const { return factor_; }
  /// Whether devices see nothing but their own columns, as they are. factor() may still not be 1.
  [[nodiscard]] bool same() const { return same_; }

  [[nodiscard]] int devices() const { return devices_; }
  [[nodiscard]] std::size_t nodes() const { return own_share_.size(); }
  [[nodiscard]] std::size_t node_of(std::size_t device) const { return device / per_node_; }
  /// The first device of a node, and one past its last.
  [[nodiscard]] std::size_t first_of(std::size_t node) const { return node * per_node_; }
  [[nodiscard]] std::size_t end_of(std::size_t node) const {
    return std::min(first_of(node) + per_node_, static_cast<std::size_t>(devices_));
  }

  /// Columns that a device of `node` is seen to have, by its own, those of its node, and those of
  /// all devices.
  [[nodiscard]] float seen(std::size_t node, double of_device, double of_node,
                           double of_all) const {
    const double parts = kPartsOfColumn * unrounded(node, of_device, of_node, of_all);
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): a conversion, since std::round is a call.
    return static_cast<float>(static_cast<double>(static_cast<std::int64_t>(parts + 0.5)) /
                              kPartsOfColumn);
  }
  /// The unrounded value, for columns or anything that is sent like them.
  [[nodiscard]] double unrounded(std::size_t node, double of_device, double of_node,
                                 double of_all) const {
    return std::max({own_share_[node] * of_device, node_share_[node] * of_node,
                     receive_share_[node] * (of_all - of_node)});
  }
  /// Computes `seen` for all devices. Both shapes: [devices].
  void see(std::span<const float> dim_sums, std::span<float> seen) const;
  /// Lookups of the device that is seen to have most, in the unit of `lookups`, which is [devices].
  [[nodiscard]] std::int64_t most_seen(std::span<const std::int64_t> lookups) const;

 private:
  int devices_;
  std::size_t per_node_;
  double factor_ = 1.0;
  bool same_ = true;
  std::vector<double> own_share_;   ///< [nodes]
  std::vector<double> node_share_;  ///< [nodes]
  /// [nodes]; 0 if all are as large as each other: then some link sends as much as any is sent.
  std::vector<double> receive_share_;
};

}  // namespace neuroshard
#pragma GCC visibility pop
