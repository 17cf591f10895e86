#include "weights/collection/analytic_plan_cost.h"

#include <algorithm>
#include <vector>

#include "core/shards_cost.h"
#include "neuroshard/prediction_limits.h"

namespace neuroshard {

PlanCost analytic_plan_cost(const GpuSpec& gpu, const NetworkSpec& network, const Task& task,
                            const Plan& plan, std::int64_t batch) {
  validate(task);
  validate(plan, task);
  PlanCost cost;
  cost.fits_memory = true;
  std::vector<std::int64_t> dim_sums;
  for (const std::vector<TableSlice>& shard : slices_by_device(plan)) {
    DeviceCost device;
    std::vector<Table> tables;
    for (const TableSlice& slice : shard) {
      Table table = table_of(task, slice);
      device.memory += slice_memory(table, slice.dim);
      device.dim_sum += slice.dim;
      tables.push_back(std::move(table));
    }
    device.slices = static_cast<int>(shard.size());
    device.memory_bytes = device.memory.total_bytes();
    add_what_is_there(task, cost.devices.size(), device);
    device.compute_ms = analytic_compute(gpu, tables, batch).total_ms() + device.base_ms;
    cost.fits_memory &= device.free_bytes >= 0;
    dim_sums.push_back(device.dim_sum);
    cost.devices.push_back(device);
  }

  // The backward pass does not depend on when the devices start; the forward pass does.
  std::vector<double> offsets(cost.devices.size(), 0.0);
  const std::vector<double> backward_ms =
      analytic_comm(network, dim_sums, offsets, batch).backward_ms;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    cost.devices[d].backward_ms = backward_ms[d];
    offsets[d] = cost.devices[d].compute_ms + backward_ms[d];
  }
  const double first = *std::min_element(offsets.begin(), offsets.end());
  for (double& offset : offsets) offset -= first;
  const std::vector<double> forward_ms =
      analytic_comm(network, dim_sums, offsets, batch).forward_ms;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    cost.devices[d].forward_ms = forward_ms[d];
    cost.cost_ms = std::max(cost.cost_ms, cost.devices[d].total_ms());
  }
  cost.warning = prediction_limits(task);
  return cost;
}

std::string analytic_origin(const GpuSpec& gpu, const NetworkSpec& network) {
  return "none: analytic costs of " + std::string(gpu.name) + ", " + std::string(network.name);
}

}  // namespace neuroshard
