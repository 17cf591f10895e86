#include "search/parts/replica_candidates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>

#include "core/id_exchange.h"
#include "core/replicas.h"
#include "core/table_kind.h"
#include "neuroshard/table_features.h"

namespace neuroshard {
namespace {

/// All devices take their part of the batch in the same time.
bool computes_alike(const Task& task) {
  return std::ranges::all_of(task.device_list, [&](const Device& device) {
    return device.speed == task.device_list.front().speed;
  });
}

bool may_be_replicated(const Task& task, std::uint32_t table, std::int64_t least_room,
                       const TouchedGradients& touched) {
  return !task.tables[table].rules.limit_devices() &&
         replica_memory(task, static_cast<int>(table), touched).total_bytes() <= least_room;
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

/// Of one more column on every device.
double column_ms(const Backend& backend, const Task& task, const PlanCost& sharded) {
  const auto devices = static_cast<std::size_t>(task.devices);
  double columns = 0.0;
  for (const DeviceCost& device : sharded.devices) columns += static_cast<double>(device.dim_sum);
  const double most = std::max(columns / task.devices, 1.0);
  const std::vector<float> offsets_ms(devices, 0.0F);
  std::vector<float> ms(devices);
  const auto exchange_ms = [&](double dim_sum) {
    const std::vector<float> dim_sums(devices, static_cast<float>(dim_sum));
    backend.backward_comm(task.devices, dim_sums, ms);
    const double backward_ms = ms.front();
    backend.forward_comm(task.devices, dim_sums, offsets_ms, ms);
    return backward_ms + static_cast<double>(ms.front());
  };
  return std::max(0.0, (exchange_ms(most) - exchange_ms(most / 2)) / (most / 2));
}

/// Of ids that take as much as one more column on every device.
double id_column_ms(const Backend& backend, const Task& task, const PlanCost& sharded) {
  double lookups = 0.0;
  for (const DeviceCost& device : sharded.devices) lookups += device.lookups;
  IdExchange exchange(backend, task.devices);
  const std::int64_t most =
      std::max<std::int64_t>(2, id_columns(lookup_units(lookups / task.devices)));
  const std::int64_t half = most / 2;
  return std::max(0.0, (exchange.ms(most) - exchange.ms(half)) / static_cast<double>(most - half));
}

/// Operator costs of each of `tables` alone, less that of no table.
std::vector<double> operator_ms(const Backend& backend, const std::vector<float>& features,
                                std::size_t tables) {
  std::vector<float> embeddings(tables * static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings);
  std::vector<std::uint32_t> ids(tables);
  std::iota(ids.begin(), ids.end(), 0U);
  std::vector<std::uint32_t> offsets(tables + 2);
  std::iota(offsets.begin(), offsets.end(), 0U);
  offsets.back() = static_cast<std::uint32_t>(tables);  // The last shard is empty.
  std::vector<float> ms(tables + 1);
  backend.score_shards(embeddings, {offsets, ids}, ms);
  std::vector<double> more_ms;
  for (std::size_t i = 0; i < tables; ++i) {
    more_ms.push_back(std::max(0.0, static_cast<double>(ms[i]) - static_cast<double>(ms.back())));
  }
  return more_ms;
}

}  // namespace

std::vector<ReplicaCandidate> replica_candidates(const Backend& backend, const Task& task,
                                                 const PlanCost& sharded) {
  std::vector<ReplicaCandidate> candidates;
  if (task.devices < 2 || !computes_alike(task)) return candidates;
  const OperatorFeatures of_shards(backend.table_features(), static_cast<double>(task.batch_size));
  const OperatorFeatures of_replicas(backend.table_features(), samples_of_replicas(task));
  std::vector<float> sharded_features;
  std::vector<float> replica_features;
  const std::int64_t least_room = std::ranges::min(rooms_bytes(task));
  const TouchedGradients touched(task);
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (!may_be_replicated(task, t, least_room, touched)) continue;
    candidates.push_back({.table = t});
    of_shards.append(task.tables[t], task.tables[t].dim, sharded_features);
    of_replicas.append(task.tables[t], task.tables[t].dim, replica_features);
  }
  const std::size_t count = candidates.size();
  const std::vector<double> whole_ms = operator_ms(backend, sharded_features, count);
  const std::vector<double> replica_ms = operator_ms(backend, replica_features, count);

  const double ms_of_column = column_ms(backend, task, sharded);
  const double ms_of_id_column = id_column_ms(backend, task, sharded);
  for (std::size_t i = 0; i < count; ++i) {
    const Table& table = task.tables[candidates[i].table];
    const auto ids = static_cast<double>(id_columns(lookup_units(table.pooling_factor)));
    const double saved_ms =
        (whole_ms[i] + ms_of_column * table.dim + ms_of_id_column * ids) / task.devices;
    const double cost_ms =
        replica_ms[i] + gradients_ms(*backend.all_reduce(), task.devices, table, touched);
    candidates[i].gain = saved_ms / std::max(cost_ms, std::numeric_limits<double>::min());
  }
  // Not by where the task lists them: equal tables may take each other's place, no others.
  std::ranges::stable_sort(candidates, [&](const ReplicaCandidate& a, const ReplicaCandidate& b) {
    if (a.gain != b.gain) return a.gain > b.gain;
    return kind_of(task.tables[a.table]) < kind_of(task.tables[b.table]);
  });
  return candidates;
}

}  // namespace neuroshard
