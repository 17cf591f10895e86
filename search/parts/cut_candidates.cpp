#include "search/parts/cut_candidates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>

#include "core/replicas.h"
#include "core/table_kind.h"
#include "core/table_rules.h"
#include "neuroshard/table_features.h"
#include "search/parts/column_parts.h"
#include "search/parts/even_blocks.h"
#include "search/parts/table_loads.h"

namespace neuroshard {
namespace {

/// Over the time that the models predict.
struct Speeds {
  double mean = 1.0;
  double slowest = 1.0;
};

Speeds speeds_of(const Task& task) {
  if (task.device_list.empty()) return {};
  Speeds speeds{.mean = 0.0, .slowest = kMostSpeed};
  for (const Device& device : task.device_list) {
    speeds.mean += device.speed;
    speeds.slowest = std::min(speeds.slowest, device.speed);
  }
  speeds.mean /= task.devices;  // Exactly 1 if all are.
  return speeds;
}

/// A table that takes so much of each device.
CutCandidate candidate_of(const Task& task, std::uint32_t table, std::int64_t device_bytes) {
  return {.table = table,
          .device_bytes = device_bytes,
          .more_bytes = task.devices * static_cast<double>(device_bytes) -
                        static_cast<double>(task.tables[table].size_bytes())};
}

/// Exchange of its gradients and the update by them, beyond latencies.
double gradients_ms(const AllReduceModel& model, int devices, const Table& table,
                    const TouchedGradients& touched) {
  constexpr double kManyBytes = 1e9;
  const double ms_of_byte =
      (model.all_reduce_ms(devices, 2 * kManyBytes) - model.all_reduce_ms(devices, kManyBytes)) /
      kManyBytes;
  const std::array tables = {&table};
  const GatherTraffic once = touched.traffic(tables);
  GatherTraffic twice = once;
  twice.gathered_bytes *= 2.0;
  twice.update_bytes *= 2.0;
  return ms_of_byte * dense_gradient_bytes(table) + gather_ms(model, devices, twice) -
         gather_ms(model, devices, once);
}

// Not by where the task lists them: equal tables may take each other's place, no others.
void sort_by_gain(const Task& task, std::vector<CutCandidate>& candidates) {
  std::ranges::stable_sort(candidates, [&](const CutCandidate& a, const CutCandidate& b) {
    if (a.gain != b.gain) return a.gain > b.gain;
    return kind_of(task.tables[a.table]) < kind_of(task.tables[b.table]);
  });
}

// Row-wise tables that gain less are not worth a plan.
constexpr double kLeastRowWiseGain = 0.5;

}  // namespace

std::vector<CutCandidate> replica_candidates(const Backend& backend, const Task& task,
                                             const PlanCost& sharded) {
  std::vector<CutCandidate> candidates;
  if (task.devices < 2) return candidates;
  const OperatorFeatures of_shards(backend.table_features(), static_cast<double>(task.batch_size));
  const OperatorFeatures of_replicas(backend.table_features(), samples_of_replicas(task));
  std::vector<float> sharded_features;
  std::vector<float> replica_features;
  const std::int64_t least_room = std::ranges::min(rooms_bytes(task));
  const TouchedGradients touched(task);
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (!may_be_sharded(task, task.tables[t], ShardingKind::kReplicate)) continue;
    const std::int64_t bytes = replica_memory(task, static_cast<int>(t), touched).total_bytes();
    if (bytes > least_room) continue;
    candidates.push_back(candidate_of(task, t, bytes));
    of_shards.append(task.tables[t], task.tables[t].dim, sharded_features);
    of_replicas.append(task.tables[t], task.tables[t].dim, replica_features);
  }
  const std::size_t count = candidates.size();
  const std::vector<double> whole_ms = operator_ms(backend, sharded_features);
  const std::vector<double> replica_ms = operator_ms(backend, replica_features);
  const ExchangePrices prices = exchange_prices(backend, sharded);
  const Speeds speeds = speeds_of(task);
  for (std::size_t i = 0; i < count; ++i) {
    const Table& table = task.tables[candidates[i].table];
    const double saved_ms = (whole_ms[i] / speeds.mean + prices.column_ms * table.dim +
                             prices.ids_ms(table.pooling_factor)) /
                            task.devices;
    const double cost_ms = replica_ms[i] / speeds.slowest +
                           gradients_ms(*backend.all_reduce(), task.devices, table, touched);
    candidates[i].gain = saved_ms / std::max(cost_ms, std::numeric_limits<double>::min());
  }
  sort_by_gain(task, candidates);
  return candidates;
}

std::vector<CutCandidate> row_wise_candidates(const Backend& backend, const Task& task,
                                              const Plan& sharded, const PlanCost& cost) {
  std::vector<CutCandidate> candidates;
  if (task.devices < 2) return candidates;
  const ExchangePrices prices = exchange_prices(backend, cost);
  std::vector<Table> slices;
  for (const TableSlice& slice : sharded.slices) slices.push_back(table_of(task, slice));
  const std::vector<double> slices_ms = operator_ms(backend, task, slices);
  // What blocks take of slow devices, slices give way to.
  const double speed = speeds_of(task).mean;
  const auto load_ms = [&](double of_operator_ms, const Table& table) {
    return of_operator_ms / speed + prices.column_ms * table.dim +
           prices.ids_ms(table.pooling_factor);
  };
  std::vector<double> sharded_ms(task.tables.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    sharded_ms[static_cast<std::size_t>(sharded.slices[i].table)] +=
        load_ms(slices_ms[i], slices[i]) / task.devices;
  }
  const double mean_ms = std::accumulate(sharded_ms.begin(), sharded_ms.end(), 0.0);

  std::vector<Table> narrowest;
  std::vector<Table> blocks;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (!may_be_cut(task, task.tables[t], task.devices)) continue;
    narrowest.push_back(task.tables[t]);
    narrowest.back().dim = narrowest_part(task.tables[t]);
    const Table& block = blocks.emplace_back(busiest_block(task, t, task.devices));
    candidates.push_back(candidate_of(task, t, block.size_bytes()));
  }
  const std::vector<double> narrowest_ms = operator_ms(backend, task, narrowest);
  const std::vector<double> blocks_ms = operator_ms(backend, task, blocks);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double slice_ms = load_ms(narrowest_ms[i], narrowest[i]);
    // A plan waits for a slice that is more than a device's share of everything.
    const double saved_ms =
        std::max(sharded_ms[candidates[i].table], slice_ms > mean_ms ? slice_ms : 0.0);
    candidates[i].gain =
        saved_ms / std::max(load_ms(blocks_ms[i], blocks[i]), std::numeric_limits<double>::min());
  }
  std::erase_if(candidates, [](const CutCandidate& one) { return one.gain < kLeastRowWiseGain; });
  sort_by_gain(task, candidates);
  return candidates;
}

}  // namespace neuroshard
