#include "core/plans/change_costs.h"

#include <algorithm>
#include <limits>

#include "core/models/cost_range.h"
#include "core/models/final_cost.h"
#include "core/plans/iteration.h"

namespace neuroshard {

ChangePieces::ChangePieces(const Backend& backend, const Task& task, const Plan& plan)
    : task_(task),
      tables_(task),
      host_curves_(task),
      links_(host_links(task)),
      prices_(backend, task, plan),
      of_operator_(backend.table_features(), static_cast<double>(task.batch_size)),
      exchange_(task.exchange) {}

std::uint32_t ChangePieces::add(const TableSlice& slice) {
  const Table table = tables_.of(slice);
  of_operator_.append(table, slice.dim, features_);
  prices_ms_.push_back(prices_.ms_of(slice));
  const bool priced = prices_ms_.back().has_value();
  dims_.push_back(priced ? 0.0F : static_cast<float>(output_columns(table, slice.dim)));
  ids_.push_back(priced ? 0 : id_units(table, exchange_));
  if (task_.host.bytes > 0) {
    const Table& whole = task_.tables[static_cast<std::size_t>(slice.table)];
    const SliceMemory memory = slice_memory(table, slice.dim);
    for (const double gb_s : links_.gb_s) {
      hosted_.push_back(host_curves_.of(whole, slice.rows, memory, gb_s));
    }
  }
  return static_cast<std::uint32_t>(dims_.size() - 1);
}

std::vector<float> ChangePieces::embeddings(const Backend& backend) const {
  std::vector<float> embeddings(dims_.size() * static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features_, embeddings);
  return embeddings;
}

ChangeCosts::ChangeCosts(const Backend& backend, const Task& task, const Plan& plan,
                         const ChangePieces& pieces, const std::vector<ChangeShard>& shards,
                         const std::vector<DeviceCost>& devices)
    : backend_(backend),
      task_(task),
      pieces_(pieces),
      in_node_(task, plan, node_shares(backend.network(), task)),
      replica_bytes_(replicas_memory(task, plan).total_bytes()),
      embeddings_(pieces.embeddings(backend)),
      devices_(shards.size()),
      base_ms_(compute_on_devices(task).base_ms),
      speed_(compute_on_devices(task).speed),
      overlap_(task.overlap),
      all_reduce_ms_(devices.front().all_reduce_ms),
      any_slices_(!std::ranges::all_of(shards, &ChangeShard::empty)) {
  base_ms_.resize(devices_, 0.0F);
  speed_.resize(devices_, 1.0F);
  std::vector<const ChangeShard*> all;
  all.reserve(shards.size());
  for (const ChangeShard& shard : shards) all.push_back(&shard);
  compute_ms_ = compute_of(all);
  for (std::size_t d = 0; d < devices_; ++d) {
    compute_ms_[d] = tables_ms(compute_ms_[d], speed_[d]) + base_ms_[d] + waited_ms(d, shards[d]);
    prefetched_ms_.push_back(prefetches(task) ? fetched_ms(d, shards[d]) : 0.0F);
    replicas_ms_.push_back(devices[d].replicas_ms);
    dim_sums_.push_back(dim_sum(shards[d]));
    ids_.push_back(ids(shards[d]));
  }
}

std::vector<ChangedCost> ChangeCosts::of(const std::vector<PlanChange>& changes) const {
  constexpr std::size_t kNumbers = std::size_t{1} << 18;  // Numbers of a batch; bounds its memory.
  const std::size_t rows = std::max<std::size_t>(1, kNumbers / devices_);
  std::vector<ChangedCost> costs;
  for (std::size_t first = 0; first < changes.size(); first += rows) {
    add_costs(std::span(changes).subspan(first, std::min(rows, changes.size() - first)), costs);
  }
  return costs;
}

float ChangeCosts::dim_sum(const ChangeShard& shard) const {
  float sum = 0.0F;
  for (const std::uint32_t piece : shard) sum += pieces_.dim(piece);
  return static_cast<float>(in_node_.columns(sum));
}

std::int64_t ChangeCosts::ids(const ChangeShard& shard) const {
  std::int64_t sum = 0;
  for (const std::uint32_t piece : shard) sum += pieces_.ids(piece);
  return in_node_.ids(sum);
}

double ChangeCosts::ids_ms(const PlanChange& change, IdExchange& exchange) const {
  if (!exchange.priced() || !any_slices_) return 0.0;
  std::vector<std::int64_t> changed = ids_;
  for (const ChangedShard& shard : change) changed[shard.device] = ids(shard.pieces);
  return exchange.ms(most_lookups_seen(backend_.nodes(static_cast<int>(devices_)), changed));
}

float ChangeCosts::fetched_ms(std::size_t device, const ChangeShard& shard) const {
  if (task_.host.bytes == 0) return 0.0F;
  HostCurve sum;
  for (const std::uint32_t piece : shard) sum.add(pieces_.host_curve(piece, device));
  const std::int64_t room = hbm_room_bytes(task_, device) - replica_bytes_;
  const HostMemory host = host_of_device(task_, device);
  return static_cast<float>(fetch_ms(sum, host_point(sum, room, host), host));
}

std::vector<float> ChangeCosts::compute_of(const std::vector<const ChangeShard*>& shards) const {
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> ids;
  for (const ChangeShard* shard : shards) {
    ids.insert(ids.end(), shard->begin(), shard->end());
    offsets.push_back(static_cast<std::uint32_t>(ids.size()));
  }
  std::vector<float> cost_ms(shards.size());
  score_with_prices(backend_, embeddings_, {offsets, ids}, pieces_.prices_ms(), cost_ms);
  return cost_ms;
}

void ChangeCosts::add_costs(std::span<const PlanChange> changes,
                            std::vector<ChangedCost>& costs) const {
  std::vector<const ChangeShard*> changed;
  for (const PlanChange& change : changes) {
    for (const ChangedShard& shard : change) changed.push_back(&shard.pieces);
  }
  const std::vector<float> changed_ms = compute_of(changed);
  std::vector<float> compute_ms;
  std::vector<float> dim_sums;
  std::size_t next = 0;
  for (const PlanChange& change : changes) {
    const std::size_t row = compute_ms.size();
    compute_ms.insert(compute_ms.end(), compute_ms_.begin(), compute_ms_.end());
    dim_sums.insert(dim_sums.end(), dim_sums_.begin(), dim_sums_.end());
    for (const ChangedShard& shard : change) {
      const std::size_t device = shard.device;
      compute_ms[row + device] =
          tables_ms(changed_ms[next++], shard.speed.value_or(speed_[device])) +
          shard.base_ms.value_or(base_ms_[device]) + waited_ms(device, shard.pieces);
      dim_sums[row + device] = dim_sum(shard.pieces);
    }
  }
  const auto devices = static_cast<int>(devices_);
  std::vector<float> backward_ms(dim_sums.size());
  std::vector<float> offsets_ms(dim_sums.size());
  std::vector<float> forward_ms(dim_sums.size());
  if (any_slices_) {
    backend_.backward_comm(devices, dim_sums, backward_ms);
    for (std::size_t row = 0; row < dim_sums.size(); row += devices_) {
      start_offsets(&compute_ms[row], &backward_ms[row], devices, &offsets_ms[row]);
    }
    backend_.forward_comm(devices, dim_sums, offsets_ms, forward_ms);
  }
  std::size_t row = 0;
  IdExchange ids(backend_, devices);
  std::vector<double> replicas_ms = replicas_ms_;
  for (const PlanChange& change : changes) {
    for (const ChangedShard& shard : change) {
      if (!shard.speed) continue;
      replicas_ms[shard.device] *= static_cast<double>(speed_[shard.device]) / *shard.speed;
    }
    std::vector<float> prefetched_ms = prefetched_ms_;
    for (const ChangedShard& shard : change) {
      if (prefetches(task_)) prefetched_ms[shard.device] = fetched_ms(shard.device, shard.pieces);
    }
    ChangedCost cost;
    const double ids_ms = this->ids_ms(change, ids);
    const auto least = [&](const std::vector<float>& exchange_ms) -> double {
      return std::ranges::min(std::span(exchange_ms).subspan(row, devices_));
    };
    const double outputs_ms = least(forward_ms);
    const double gradients_ms = least(backward_ms);
    const auto total_ms = [&](std::size_t device) {
      const std::size_t of = row + device;
      const double own_ms = compute_ms[of] + replicas_ms[device];
      const Iteration iteration =
          iteration_of(overlap_, {.own_ms = own_ms + backward_ms[of] + forward_ms[of],
                                  .ids_ms = ids_ms,
                                  .all_reduce_ms = all_reduce_ms_,
                                  .outputs_ms = outputs_ms,
                                  .gradients_ms = gradients_ms});
      return prefetches(task_) ? std::max<double>(iteration.ms, prefetched_ms[device])
                               : iteration.ms;
    };
    cost.plan_ms = -std::numeric_limits<double>::infinity();
    for (std::size_t device = 0; device < devices_; ++device) {
      // max() alone would pass over NaN.
      const double ms = total_ms(device);
      cost.plan_ms =
          std::max(cost.plan_ms, is_cost(ms) ? ms : std::numeric_limits<double>::infinity());
    }
    cost.plan_ms = with_host_ms(overlap_, cost.plan_ms);
    for (const ChangedShard& shard : change) {
      const double device_ms = total_ms(shard.device);
      cost.device_ms = &shard == &change.front() ? device_ms : std::max(cost.device_ms, device_ms);
    }
    costs.push_back(cost);
    replicas_ms = replicas_ms_;
    row += devices_;
  }
}

}  // namespace neuroshard
