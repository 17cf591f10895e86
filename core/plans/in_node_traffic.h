#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "neuroshard/node_links.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Shares that links have of the time of collectives, if all devices send alike.
struct NodeShares {
  double exchange_in_node = 1.0;    ///< Links in nodes, of an all-to-all.
  double all_reduce_between = 1.0;  ///< Links between nodes, of an all-reduce.
};

/// Whether the devices of `task` fill several nodes of this network; none is known without one.
[[nodiscard]] bool fills_nodes_of(const std::optional<NodeNetwork>& network, const Task& task);

/// The shares of such nodes. Else nothing is known of links, and each has all of it.
[[nodiscard]] NodeShares node_shares(const std::optional<NodeNetwork>& network, const Task& task);

/// Data that devices send within their nodes alone, in the all-to-alls that send all else: lookups
/// of rows that each node holds once. Each device sends as much.
///
///     columns as if all went everywhere = max(columns, in-node share * (columns + in-node
///     columns))
///
/// docs/deduplication.md derives it.
class InNodeTraffic {
 public:
  InNodeTraffic() = default;  ///< None.
  /// `task`: as all-to-alls see it (DeduplicatedTask). `plan`: of it, without hot rows.
  InNodeTraffic(const Task& task, const Plan& plan, const NodeShares& shares);

  /// Columns of a device that has so many besides.
  [[nodiscard]] double columns(double others) const { return with(others, columns_); }
  /// And id_units() likewise.
  [[nodiscard]] std::int64_t ids(std::int64_t others) const;

 private:
  [[nodiscard]] double with(double others, double in_node) const {
    return std::max(others, share_ * (others + in_node));
  }

  double share_ = 0.0;
  double columns_ = 0.0;
  double ids_ = 0.0;
};

}  // namespace neuroshard
