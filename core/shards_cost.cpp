#include "core/shards_cost.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/cost_range.h"
#include "core/final_cost.h"
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

std::string warning_of(const std::vector<DeviceCost>& devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceCost& device = devices[i];
    if (std::min({device.compute_ms, device.forward_ms, device.backward_ms}) >= 0.0) continue;
    return "a predicted cost of device " + std::to_string(i) +
           " is negative: the tables are far from those that the models were trained on, and all "
           "figures here are doubtful";
  }
  return {};
}

}  // namespace

PlanCost cost_of_shards(const Backend& backend, const PlacedShards& placed) {
  const auto devices = static_cast<std::size_t>(placed.devices);
  PlanCost cost;
  cost.devices.resize(devices);
  std::vector<float> dim_sums(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    DeviceCost& device = cost.devices[d];
    const std::uint32_t first = placed.shards.offsets[d];
    const std::uint32_t end = placed.shards.offsets[d + 1];
    for (std::uint32_t i = first; i < end; ++i) {
      device.memory += placed.memory[placed.shards.piece_ids[i]];
      device.dim_sum += placed.dims[placed.shards.piece_ids[i]];
    }
    device.slices = static_cast<int>(end - first);
    device.memory_bytes = device.memory.total_bytes();
    device.reserved_bytes = placed.reserved_bytes;
    device.free_bytes = placed.usable_bytes - device.memory_bytes;
    dim_sums[d] = static_cast<float>(device.dim_sum);
  }

  std::vector<float> compute_ms(devices);
  std::vector<float> backward_ms(devices);
  std::vector<float> offsets_ms(devices);
  std::vector<float> forward_ms(devices);
  backend.score_shards(placed.embeddings, placed.shards, compute_ms);
  require_costs(compute_ms, "the compute model", cost);
  backend.backward_comm(placed.devices, dim_sums, backward_ms);
  require_costs(backward_ms, "the backward communication model", cost);
  start_offsets(compute_ms.data(), backward_ms.data(), placed.devices, offsets_ms.data());
  backend.forward_comm(placed.devices, dim_sums, offsets_ms, forward_ms);
  require_costs(forward_ms, "the forward communication model", cost);

  cost.fits_memory = true;
  for (std::size_t d = 0; d < devices; ++d) {
    cost.devices[d].compute_ms = compute_ms[d];
    cost.devices[d].backward_ms = backward_ms[d];
    cost.devices[d].forward_ms = forward_ms[d];
    cost.fits_memory &= cost.devices[d].free_bytes >= 0;
  }
  cost.cost_ms =
      slowest_device_ms(compute_ms.data(), backward_ms.data(), forward_ms.data(), placed.devices);
  cost.warning = warning_of(cost.devices);
  return cost;
}

}  // namespace neuroshard
