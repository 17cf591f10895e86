#include "core/plans/in_node_traffic.h"

#include <cmath>

#include "core/models/link_rates.h"
#include "core/plans/hot_rows.h"
#include "core/plans/id_exchange.h"

namespace neuroshard {

bool fills_nodes_of(const std::optional<NodeNetwork>& network, const Task& task) {
  return network && network->devices_per_node == task.devices_per_node && fills_nodes(task);
}

NodeShares node_shares(const std::optional<NodeNetwork>& network, const Task& task) {
  if (!fills_nodes_of(network, task)) return {};
  const NodeLinks& links = network->links;
  const double devices = task.devices;
  const FilledNodes nodes(devices, task.devices_per_node);
  const double n = nodes.devices;
  const double inside = std::max(in_node_time(n, links), n * shared_in_node_time(n, links));
  const double beyond =
      std::max(beyond_node_time(devices, n, links), n * shared_beyond_node_time(devices, n, links));
  return {.exchange_in_node = inside / std::max(inside, beyond),
          .all_reduce_between =
              all_reduce_between_ms_per_mb(nodes, links) / all_reduce_ms_per_mb(nodes, links)};
}

InNodeTraffic::InNodeTraffic(const Task& task, const Plan& plan, const NodeShares& shares)
    : share_(shares.exchange_in_node) {
  for (const int index : plan.replicas) {
    const Table& table = task.tables[static_cast<std::size_t>(index)];
    if (table.replica_devices == 1) continue;
    Table part = table;  // A device sends each of its node so many columns.
    part.pooling_factor /= table.replica_devices;
    columns_ += output_columns(part, part.dim);
    ids_ += static_cast<double>(id_units(part, task.exchange));
  }
}

std::int64_t InNodeTraffic::ids(std::int64_t others) const {
  return std::llround(with(static_cast<double>(others), ids_));
}

}  // namespace neuroshard
