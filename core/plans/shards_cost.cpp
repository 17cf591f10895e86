#include "core/plans/shards_cost.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/count_up.h"
#include "core/models/cost_range.h"
#include "core/models/final_cost.h"
#include "core/plans/id_exchange.h"
#include "core/plans/iteration.h"
#include "core/plans/slice_prices.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

void require_costs(const std::vector<float>& cost_ms, const std::string& model,
                   const PlanCost& plan) {
  const auto wrong =
      std::find_if(cost_ms.begin(), cost_ms.end(), [](float ms) { return !is_cost(ms); });
  if (wrong == cost_ms.end()) return;
  const auto index = static_cast<std::size_t>(wrong - cost_ms.begin());
  const DeviceCost& device = plan.devices[index];
  throw Error(model + " predicts " + std::to_string(*wrong) + " ms for device " +
              std::to_string(index) + " (" + std::to_string(device.slices) + " slices, dim sum " +
              std::to_string(device.dim_sum) +
              "): its numbers overflow; train or convert the model again, or check the tables");
}

/// A device whose tables have no cost has one by which this is so, unless it is their sum.
void require_costs_of_tables(const Backend& backend, const PlacedShards& placed) {
  if (placed.tables.empty()) return;
  std::vector<float> alone_ms(placed.tables.size());
  const std::vector<std::uint32_t> numbers = count_up<std::uint32_t>(placed.tables.size() + 1);
  const std::span<const std::uint32_t> pieces = std::span(numbers).first(placed.tables.size());
  backend.score_shards(placed.embeddings, {numbers, pieces}, alone_ms);
  for (std::size_t i = 0; i < alone_ms.size(); ++i) {
    if (is_cost(alone_ms[i])) continue;
    throw Error("table " + std::to_string(placed.tables[i]) + ": the compute model predicts " +
                std::to_string(alone_ms[i]) + " ms for it at dim " +
                std::to_string(placed.columns[i]) +
                ": its numbers overflow; train or convert the model again, or check row and "
                "pooling_factor of the table");
  }
}

/// `tables_ms`: compute costs without base loads.
std::string warning_of(const std::vector<DeviceCost>& devices,
                       const std::vector<float>& tables_ms) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceCost& device = devices[i];
    if (std::min({static_cast<double>(tables_ms[i]), device.forward_ms, device.backward_ms}) >= 0.0)
      continue;
    return "a predicted cost of device " + std::to_string(i) +
           " is negative: the tables are far from those that the models were trained on, and all "
           "figures here are doubtful";
  }
  return {};
}

}  // namespace

void add_what_is_there(const Task& task, std::size_t device, DeviceCost& cost) {
  cost.reserved_bytes = reserved_bytes(task, device);
  cost.free_bytes = hbm_room_bytes(task, device) - cost.memory_bytes;
  if (task.device_list.empty()) return;
  cost.base_ms = task.device_list[device].base_ms;
  cost.base_bytes = task.device_list[device].base_bytes;
  cost.speed = task.device_list[device].speed;
}

void add_hosted(const HostedPlan::OfDevice& hosted, DeviceCost& cost) {
  cost.fetch_ms = hosted.fetch_ms;
  cost.ssd_ms = hosted.ssd_ms;
  cost.host_bytes = hosted.host_bytes;
  cost.ssd_bytes = hosted.ssd_bytes;
  if (hosted.missing_bytes > 0) cost.free_bytes = std::min(cost.free_bytes, -hosted.missing_bytes);
}

std::vector<ShardSums> sums_of_shards(const Backend& backend, const PlacedShards& placed) {
  std::vector<ShardSums> all(placed.shards.size());
  for (std::size_t shard = 0; shard < all.size(); ++shard) {
    ShardSums& sums = all[shard];
    const std::uint32_t first = placed.shards.offsets[shard];
    const std::uint32_t end = placed.shards.offsets[shard + 1];
    sums.slices = static_cast<int>(end - first);
    for (std::uint32_t i = first; i < end; ++i) {
      const std::uint32_t piece = placed.shards.piece_ids[i];
      sums.lookups += placed.lookups[piece];
      sums.memory += placed.memory[piece];
      sums.dim_sum += placed.columns[piece];
      if (!placed.prices_ms.empty() && placed.prices_ms[piece]) continue;
      sums.ids += placed.ids[piece];
      sums.columns += placed.columns[piece];
    }
  }
  std::vector<float> tables_ms(all.size());
  score_with_prices(backend, placed.embeddings, placed.shards, placed.prices_ms, tables_ms);
  if (!std::ranges::all_of(tables_ms, is_cost)) require_costs_of_tables(backend, placed);
  for (std::size_t shard = 0; shard < all.size(); ++shard) all[shard].tables_ms = tables_ms[shard];
  return all;
}

PlanCost cost_of_sums(const Backend& backend, const Task& task,
                      std::span<const HostedPlan::OfDevice> hosted, const InNodeTraffic& in_node,
                      std::span<const ShardSums> sums) {
  const auto devices = static_cast<std::size_t>(task.devices);
  PlanCost cost;
  cost.devices.resize(devices);
  std::vector<float> dim_sums(devices);
  std::vector<std::int64_t> ids_of_devices;
  std::vector<float> tables_ms(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    DeviceCost& device = cost.devices[d];
    device.memory = sums[d].memory;
    device.dim_sum = sums[d].dim_sum;
    device.lookups = lookups_of(sums[d].lookups);
    device.slices = sums[d].slices;
    device.memory_bytes = device.memory.total_bytes();
    add_what_is_there(task, d, device);
    if (!hosted.empty()) add_hosted(hosted[d], device);
    ids_of_devices.push_back(in_node.ids(sums[d].ids));
    dim_sums[d] = static_cast<float>(in_node.columns(static_cast<double>(sums[d].columns)));
    tables_ms[d] = sums[d].tables_ms;
  }

  std::vector<float> backward_ms(devices);
  std::vector<float> offsets_ms(devices);
  std::vector<float> forward_ms(devices);
  require_costs(tables_ms, "the compute model", cost);
  const ComputeOnDevices compute = compute_on_devices(task);
  std::vector<float> compute_ms(devices);
  cost.prefetched = prefetches(task);
  for (std::size_t d = 0; d < devices; ++d) {
    compute_ms[d] = compute.compute_ms(d, tables_ms[d]);
    if (!cost.prefetched) compute_ms[d] += static_cast<float>(cost.devices[d].fetch_ms);
  }
  backend.backward_comm(task.devices, dim_sums, backward_ms);
  require_costs(backward_ms, "the backward communication model", cost);
  start_offsets(compute_ms.data(), backward_ms.data(), task.devices, offsets_ms.data());
  backend.forward_comm(task.devices, dim_sums, offsets_ms, forward_ms);
  require_costs(forward_ms, "the forward communication model", cost);

  cost.fits_memory = true;
  for (std::size_t d = 0; d < devices; ++d) {
    cost.devices[d].compute_ms = compute_ms[d];
    cost.devices[d].compute_ms += cost.prefetched_ms(cost.devices[d]);
    cost.devices[d].backward_ms = backward_ms[d];
    cost.devices[d].forward_ms = forward_ms[d];
    cost.fits_memory &= cost.devices[d].free_bytes >= 0;
  }
  const double ids_ms = IdExchange(backend, task.devices)
                            .ms(most_lookups_seen(backend.nodes(task.devices), ids_of_devices));
  for (DeviceCost& device : cost.devices) device.ids_ms = ids_ms;
  set_iterations(task.overlap, cost);
  cost.warning = warning_of(cost.devices, tables_ms);
  return cost;
}

PlanCost cost_of_shards(const Backend& backend, const PlacedShards& placed) {
  return cost_of_sums(backend, placed.task, placed.hosted, placed.in_node,
                      sums_of_shards(backend, placed));
}

}  // namespace neuroshard
