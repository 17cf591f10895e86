#include "weights/collection/analytic_plan_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "core/plans/host_rows.h"
#include "core/plans/id_exchange.h"
#include "core/plans/in_node_traffic.h"
#include "core/plans/iteration.h"
#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "core/plans/shards_cost.h"
#include "core/plans/slice_tables.h"
#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/prediction_limits.h"

namespace neuroshard {

namespace {

/// `tables_ms(device, tables, samples)`: compute cost of a device's tables, without its base load.
using TablesCost = std::function<double(std::size_t, std::span<const Table>, double)>;
/// Cost of the gradients of replicas, and the update by them.
using ReplicaGradientsCost = std::function<double(const ReplicaTraffic&)>;

/// Histograms of tables are those of kDefaultBatchSize samples; here of those that they serve.
class TablesOfSamples {
 public:
  explicit TablesOfSamples(double samples) : samples_(samples), scale_(samples) {}

  [[nodiscard]] double samples() const { return samples_; }
  [[nodiscard]] Table operator()(Table table) const {
    table.access_histogram = scale_(table);
    return table;
  }

 private:
  double samples_;
  HistogramScale scale_;
};

PlanCost plan_cost(const TablesCost& tables_ms, const NetworkSpec& known_network, const Task& given,
                   const Plan& given_plan, const ReplicaGradientsCost& gradients_ms) {
  validate(given);
  validate(given_plan, given);
  const PricedPlan priced(given, given_plan);
  const Task& stated = priced.with_all_ids();
  const Plan& plan = priced.plan();
  const Task& task = priced.task();
  const NetworkSpec network = network_of(known_network, task);
  const NodeShares shares = node_shares(network.nodes(), task);
  const InNodeTraffic in_node(task, plan, shares);
  const NodeOrder order = task.links ? NodeOrder::kInOrder : order_of(network);
  PlanCost cost;
  cost.fits_memory = true;
  cost.prefetched = prefetches(task);
  std::vector<std::int64_t> dim_sums;
  std::vector<std::int64_t> id_sums;
  const TablesOfSamples of_batch(static_cast<double>(task.batch_size));
  SliceTables slice_tables(task);
  HostedPlan hosted;
  if (task.host.bytes > 0) hosted = hosted_plan(task, plan);
  for (const std::vector<int>& shard : plan.shards) {
    DeviceCost device;
    std::vector<Table> tables;
    std::int64_t lookups = 0;
    std::int64_t ids = 0;
    for (const int index : shard) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      Table table = slice_tables.of(slice);
      lookups += lookup_units(table.pooling_factor);
      ids += id_units(table, task.exchange);
      device.memory += hosted.memory.empty() ? slice_memory(table, slice.dim)
                                             : hosted.memory[static_cast<std::size_t>(index)];
      device.dim_sum += output_columns(table, slice.dim);
      tables.push_back(of_batch(std::move(table)));
    }
    id_sums.push_back(id_columns(in_node.ids(ids), task.exchange));
    device.lookups = lookups_of(lookups);
    device.slices = static_cast<int>(shard.size());
    device.memory_bytes = device.memory.total_bytes();
    add_what_is_there(task, cost.devices.size(), device);
    if (!hosted.devices.empty()) add_hosted(hosted.devices[cost.devices.size()], device);
    device.compute_ms = tables_ms(cost.devices.size(), tables, of_batch.samples()) +
                        device.fetch_ms + device.base_ms;
    cost.fits_memory &= device.free_bytes >= 0;
    dim_sums.push_back(std::llround(in_node.columns(static_cast<double>(device.dim_sum))));
    cost.devices.push_back(device);
  }
  cost.hbm_shares = std::move(hosted.hbm_shares);
  cost.ssd_shares = std::move(hosted.ssd_shares);

  // The backward pass does not depend on when the devices start; the forward pass does.
  std::vector<double> offsets(cost.devices.size(), 0.0);
  const auto exchange = [&](const std::vector<std::int64_t>& columns,
                            const std::vector<double>& starts) {
    return analytic_comm(network, columns, starts, of_batch.samples(), order, task.exchange);
  };
  const std::vector<double> backward_ms = exchange(dim_sums, offsets).backward_ms;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    cost.devices[d].backward_ms = backward_ms[d];
    offsets[d] = cost.devices[d].compute_ms - cost.prefetched_ms(cost.devices[d]) + backward_ms[d];
  }
  // All wait for the busiest, so that the others may as well be as busy; but not in nodes whose
  // devices share what connects them.
  if (order == NodeOrder::kAny) std::ranges::fill(id_sums, std::ranges::max(id_sums));
  const double ids_ms =
      exchange(id_sums, std::vector<double>(offsets.size(), 0.0)).backward_ms.front();
  const double first = *std::min_element(offsets.begin(), offsets.end());
  for (double& offset : offsets) offset -= first;
  const std::vector<double> forward_ms = exchange(dim_sums, offsets).forward_ms;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    cost.devices[d].forward_ms = forward_ms[d];
    cost.devices[d].ids_ms = ids_ms;
  }
  set_iterations(task.overlap, cost);
  if (has_tables_on_every_device(plan)) {
    const TablesOfSamples of_device(samples_of_replicas(task));
    std::vector<Table> tables;
    for (const Table* table : tables_on_every_device(stated, task, plan)) {
      tables.push_back(of_device(in_replica_operator(*table)));
    }
    std::vector<double> operator_ms;
    for (std::size_t d = 0; d < cost.devices.size(); ++d) {
      operator_ms.push_back(tables_ms(d, tables, of_device.samples()));
    }
    add_replicas({.operator_ms = std::move(operator_ms),
                  .all_reduce_ms =
                      plan.replicas.empty()
                          ? 0.0
                          : gradients_ms(replica_traffic(task, plan, shares.all_reduce_between)),
                  .memory = replicas_memory(task, plan)},
                 !plan.slices.empty(), task.overlap, cost);
  }
  cost.warning = prediction_limits(given, true);
  return cost;
}

double replica_gradients_ms(const GpuSpec& gpu, const NetworkSpec& network, int devices,
                            const ReplicaTraffic& traffic) {
  return analytic_all_reduce(gpu, network, devices, traffic.dense_bytes) +
         analytic_replica_update(gpu, network, devices, traffic.update);
}

}  // namespace

PlanCost analytic_plan_cost(const GpuSpec& gpu, const NetworkSpec& network, const Task& task,
                            const Plan& plan) {
  const auto tables_ms = [&](std::size_t device, std::span<const Table> tables, double samples) {
    const double ms = analytic_compute(gpu, tables, samples).total_ms();
    return task.device_list.empty() ? ms : ms / task.device_list[device].speed;
  };
  return plan_cost(tables_ms, network, task, plan, [&](const ReplicaTraffic& traffic) {
    return replica_gradients_ms(gpu, network_of(network, task), task.devices, traffic);
  });
}

PlanCost analytic_plan_cost(std::span<const GpuSpec> gpus, const NetworkSpec& network,
                            const Task& task, const Plan& plan) {
  if (gpus.size() != static_cast<std::size_t>(task.devices)) {
    throw Error("there are " + std::to_string(gpus.size()) + " GPUs for " +
                std::to_string(task.devices) + " devices; give one for each");
  }
  const auto tables_ms = [&](std::size_t device, std::span<const Table> tables, double samples) {
    return analytic_compute(gpus[device], tables, samples).total_ms();
  };
  const auto gradients_ms = [&](const ReplicaTraffic& traffic) {
    double slowest = 0.0;
    for (const GpuSpec& gpu : gpus) {
      slowest = std::max(
          slowest, replica_gradients_ms(gpu, network_of(network, task), task.devices, traffic));
    }
    return slowest;
  };
  return plan_cost(tables_ms, network, task, plan, gradients_ms);
}

std::string analytic_origin(const GpuSpec& gpu, const NetworkSpec& network) {
  return "none: analytic costs of " + gpu.name + ", " + network.name;
}

}  // namespace neuroshard
