#include "core/plans/change_costs.h"

#include <algorithm>
#include <limits>

#include "core/tables/host_shares.h"
#include "neuroshard/error.h"

namespace neuroshard {

ChangeCosts::ChangeCosts(const Backend& backend, const PricedPlan& priced,
                         const PlacedPieces& pieces, const std::vector<ChangeShard>& shards,
                         const std::vector<DeviceCost>& devices)
    : task_(priced.task()),
      pieces_(pieces),
      shards_(shards),
      devices_(without_tables(task_)),
      host_curves_(task_),
      replica_bytes_(replicas_memory(task_, priced.plan()).total_bytes()),
      any_slices_(!priced.plan().slices.empty()) {
  if (has_tables_on_every_device(priced.plan())) {
    replicas_ = cost_of_replicas(backend, priced.with_all_ids(), task_, priced.plan());
  }
  if (task_.host.bytes == 0) return;
  for (const DeviceCost& device : devices) hosted_.push_back({.fetch_ms = device.fetch_ms});
}

ChangedCost ChangeCosts::of(const PlanChange& change) const {
  std::vector<const ChangeShard*> shards;
  for (const ChangeShard& shard : shards_) shards.push_back(&shard);
  Task on = devices_;
  std::vector<HostedPlan::OfDevice> hosted = hosted_;
  std::optional<ReplicasCost> replicas = replicas_;
  for (const auto& [device, pieces, base_ms, speed] : change) {
    shards[device] = &pieces;
    if (!hosted.empty()) hosted[device].fetch_ms = fetched_ms(device, pieces);
    if (base_ms) on.device_list[device].base_ms = *base_ms;
    if (!speed) continue;
    if (replicas) replicas->operator_ms[device] *= on.device_list[device].speed / *speed;
    on.device_list[device].speed = *speed;
  }
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> ids;
  for (const ChangeShard* shard : shards) {
    ids.insert(ids.end(), shard->begin(), shard->end());
    offsets.push_back(static_cast<std::uint32_t>(ids.size()));
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  try {
    PlanCost cost = pieces_.cost_of(on, hosted, {offsets, ids});
    if (replicas) add_replicas(*replicas, any_slices_, on.overlap, cost);
    ChangedCost changed{.plan_ms = cost.cost_ms, .device_ms = -kNever};
    for (const ChangedShard& shard : change) {
      changed.device_ms = std::max(changed.device_ms, cost.devices[shard.device].total_ms());
    }
    return changed;
  } catch (const Error&) {
    return {kNever, kNever};
  }
}

double ChangeCosts::fetched_ms(std::size_t device, const ChangeShard& shard) const {
  const HostMemory host = host_of_device(task_, device);
  HostCurve sum;
  for (const std::uint32_t piece : shard) {
    const TableSlice& slice = pieces_.slice(piece);
    const SliceMemory memory = slice_memory(sized_table_of(task_, slice), slice.dim);
    const Table& table = task_.tables[static_cast<std::size_t>(slice.table)];
    sum.add(host_curves_.of(table, slice.rows, memory, host.link_gb_s));
  }
  return fetch_ms(sum, host_point(sum, hbm_room_bytes(task_, device) - replica_bytes_, host), host);
}

}  // namespace neuroshard
