#include "search/parts/device_loads.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/plans/slice_prices.h"
#include "core/plans/slice_tables.h"
#include "neuroshard/table_features.h"
#include "search/parts/table_loads.h"

namespace neuroshard {
namespace {

using Shards = std::vector<std::vector<TableSlice>>;

/// Operator costs of all slices of each device together, less that of no table, and prices of those
/// that have some.
std::vector<double> shards_ms(const Backend& backend, const Task& task, const Plan& plan,
                              const Shards& shards) {
  const OperatorFeatures of_operator(backend.table_features(),
                                     static_cast<double>(task.batch_size));
  SliceTables tables(task);
  const SlicePrices prices(backend, task, plan);
  std::vector<float> features;
  std::vector<std::uint32_t> offsets{0};
  std::vector<double> priced_ms;
  for (const std::vector<TableSlice>& shard : shards) {
    offsets.push_back(offsets.back());
    double& of_shard = priced_ms.emplace_back(0.0);
    for (const TableSlice& slice : shard) {
      if (const std::optional<double> price_ms = prices.ms_of(slice)) {
        of_shard += *price_ms;
        continue;
      }
      of_operator.append(tables.of(slice), slice.dim, features);
      ++offsets.back();
    }
  }
  std::vector<double> ms = operator_ms(backend, features, std::move(offsets));
  for (std::size_t d = 0; d < ms.size(); ++d) ms[d] += priced_ms[d];
  return ms;
}

}  // namespace

std::vector<std::int64_t> plan_bytes(const Task& task, const Plan& plan) {
  const std::int64_t of_replicas = replicas_memory(task, plan).total_bytes();
  std::vector<std::int64_t> bytes;
  for (const std::vector<TableSlice>& shard : slices_by_device(plan)) {
    std::int64_t& of_device = bytes.emplace_back(of_replicas);
    for (const TableSlice& slice : shard) of_device += slice_bytes(task, slice);
  }
  return bytes;
}

std::int64_t DeviceLoads::most_bytes() const { return std::ranges::max(bytes); }

DeviceLoads loads_of_devices(const Backend& backend, const Task& task, const Plan& plan) {
  if (!has_equal_devices(task)) return loads_of_each_device(backend, task, plan);
  DeviceLoads loads{.bytes = plan_bytes(task, plan)};
  loads.bytes.assign(loads.bytes.size(), loads.most_bytes());
  return loads;
}

DeviceLoads loads_of_each_device(const Backend& backend, const Task& task, const Plan& plan) {
  const Shards shards = slices_by_device(plan);
  DeviceLoads loads{.bytes = plan_bytes(task, plan)};
  loads.compute_ms.resize(shards.size());
  if (plan.slices.empty()) return loads;
  loads.compute_ms = shards_ms(backend, task, plan, shards);
  for (std::size_t d = 0; d < task.device_list.size(); ++d) {
    loads.compute_ms[d] /= task.device_list[d].speed;
  }
  return loads;
}

bool has_room_for(const Task& task, const DeviceLoads& loads) {
  return std::ranges::equal(loads.bytes, rooms_bytes(task), std::ranges::less_equal{});
}

bool has_room_beside(const Task& task, const DeviceLoads& loads) {
  return has_room_for(task, loads) && loads.bytes != rooms_bytes(task);
}

}  // namespace neuroshard
