#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plans/touched_gradients.h"
#include "neuroshard/exchange_types.h"
#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Milliseconds of each device in the all-to-alls of one training iteration.
struct CommCost {
  std::vector<double> forward_ms;
  std::vector<double> backward_ms;
};

/// Which devices share a node: any, all nodes as full as each other; or each `gpus_per_node` that
/// follow each other.
enum class NodeOrder { kAny, kInOrder };

/// In nodes that share links it matters which devices are in them, in others it is left out.
[[nodiscard]] NodeOrder order_of(const NetworkSpec& network);

/// The network that a task says it has; what it does not say is as in `network`.
[[nodiscard]] NetworkSpec network_of(NetworkSpec network, const Task& task);

/// The all-to-all of embedding outputs (forward) and of their gradients (backward), in the types of
/// `exchange`, between `dim_sums.size()` devices of which device `r` holds `dim_sums[r]` columns
/// and is ready to send `start_offsets_ms[r]` after the first. A device's forward cost runs from
/// its own start until all are done. An alpha-beta model; docs/analytic_costs.md derives it. Not a
/// measurement.
///
/// With NodeOrder::kAny it is left out which devices share a node (peers hold the mean of the other
/// devices' columns), so permuting the devices permutes the costs.
///
/// Throws Error if the spans differ in length, are empty or longer than kMaxDevices, or a number is
/// negative or not finite.
[[nodiscard]] CommCost analytic_comm(const NetworkSpec& network,
                                     std::span<const std::int64_t> dim_sums,
                                     std::span<const double> start_offsets_ms,
                                     double batch = kDefaultBatchSize,
                                     NodeOrder order = NodeOrder::kAny,
                                     const ExchangeTypes& exchange = {});

/// The all-reduce of `bytes` between `devices` devices, within nodes and between them in turn. 0
/// for no bytes or one device. Throws Error if `devices` is not between 1 and kMaxDevices, or
/// `bytes` is negative or not finite.
[[nodiscard]] double all_reduce_transfer_ms(const NetworkSpec& network, int devices, double bytes);

/// That of `bytes` of dense fp32 gradients of devices that hold the same tables, and the
/// optimizer's pass over all of the weights, which take as many bytes. 0 for none. Throws Error
/// likewise.
[[nodiscard]] double analytic_all_reduce(const GpuSpec& gpu, const NetworkSpec& network,
                                         int devices, double bytes);

/// Replicas take more than that: an all-gather of the rows that are touched, priced as an
/// all-reduce of half the bytes, and the update. 0 for none. Throws Error likewise.
[[nodiscard]] double analytic_replica_update(const GpuSpec& gpu, const NetworkSpec& network,
                                             int devices, const ReplicaUpdate& update);

}  // namespace neuroshard
