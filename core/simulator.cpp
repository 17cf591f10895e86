#include "neuroshard/simulator.h"

#include <algorithm>
#include <string>

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

PlanCost simulate(const Backend& backend, const Task& task, const Plan& plan) {
  validate(task);
  validate(plan, task);
  const std::vector<TableSlice> slices = split_columns(task, plan.column_splits);

  std::vector<float> features;
  features.reserve(slices.size() * kTableFeatures);
  for (const TableSlice& slice : slices) {
    const auto row = table_features(task.tables[static_cast<std::size_t>(slice.table)], slice.dim);
    features.insert(features.end(), row.begin(), row.end());
  }
  std::vector<float> embeddings(slices.size() *
                                static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings);

  const auto devices = static_cast<std::size_t>(task.devices);
  PlanCost cost;
  cost.devices.resize(devices);
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> ids;
  std::vector<float> dim_sums(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    DeviceCost& device = cost.devices[d];
    for (const int id : plan.shards[d]) {
      const TableSlice& slice = slices[static_cast<std::size_t>(id)];
      ids.push_back(static_cast<std::uint32_t>(id));
      device.memory_bytes +=
          task.tables[static_cast<std::size_t>(slice.table)].rows * slice.dim * 4;
      device.dim_sum += slice.dim;
    }
    device.slices = static_cast<int>(plan.shards[d].size());
    offsets.push_back(static_cast<std::uint32_t>(ids.size()));
    dim_sums[d] = static_cast<float>(device.dim_sum);
  }

  std::vector<float> compute_ms(devices);
  std::vector<float> backward_ms(devices);
  std::vector<float> offsets_ms(devices);
  std::vector<float> forward_ms(devices);
  backend.score_shards(embeddings, {offsets, ids}, compute_ms);
  require_costs(compute_ms, "the compute model", cost);
  backend.backward_comm(task.devices, dim_sums, backward_ms);
  require_costs(backward_ms, "the backward communication model", cost);
  start_offsets(compute_ms.data(), backward_ms.data(), task.devices, offsets_ms.data());
  backend.forward_comm(task.devices, dim_sums, offsets_ms, forward_ms);
  require_costs(forward_ms, "the forward communication model", cost);

  cost.fits_memory = true;
  for (std::size_t d = 0; d < devices; ++d) {
    cost.devices[d].compute_ms = compute_ms[d];
    cost.devices[d].backward_ms = backward_ms[d];
    cost.devices[d].forward_ms = forward_ms[d];
    cost.fits_memory &= cost.devices[d].memory_bytes <= task.memory_bytes;
  }
  cost.cost_ms =
      slowest_device_ms(compute_ms.data(), backward_ms.data(), forward_ms.data(), task.devices);
  cost.warning = warning_of(cost.devices);
  return cost;
}

}  // namespace neuroshard
