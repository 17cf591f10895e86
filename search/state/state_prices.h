#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/plans/host_rows.h"
#include "core/plans/id_exchange.h"
#include "core/plans/iteration.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/cost_runner.h"
#include "neuroshard/devices.h"
#include "search/state/plan_state.h"
#include "search/state/plan_terms.h"

namespace neuroshard {

/// Counts of what models were asked.
struct PricingWork {
  std::uint64_t heads = 0;  ///< Compute costs of devices.
  std::uint64_t comms = 0;  ///< Forward costs of devices, or of all at once.
};

/// Devices that a plan waits for.
struct DeviceRanks {
  std::vector<double> ready_ms;  ///< [devices]: when each can send its outputs;
  double sum_ready_ms = 0.0;     ///< and their sum.
  double square = 0.0;           ///< Sum of squares of StatePrices::own_ms().
  std::size_t slowest = 0;
  std::size_t second_slowest = 0;
  std::size_t last_ready = 0;
  std::size_t first_ready = 0;
  std::size_t widest = 0;
  std::size_t busiest = 0;
};

/// Costs of the plan of a PlanState, and the devices that it waits for.
class StatePrices {
 public:
  /// Borrows `state`, of which it fills in what sums cost.
  explicit StatePrices(PlanState& state);

  /// All costs, from the sums.
  void price_state();
  /// All costs, from those of compute and replicas.
  void price_exchanges();
  /// Applies any edit.
  void apply(const Edit& edit);
  /// Takes back what was applied since PlanState::begin_undo().
  void undo(const PlanSums& before);
  /// Finds the devices that the plan waits for, by costs that are known.
  void rank();
  /// Counts an edit of which costs are estimates: how many there are since all were priced.
  int count_estimated() { return ++estimated_; }

  /// The cost of the plan with what guides a search beside it.
  [[nodiscard]] double objective_ms() const;
  /// Guides a search where the slowest device is not changed. `square`: as DeviceRanks::square.
  [[nodiscard]] double guide_ms(double square) const;
  /// Bytes that do not fit cost so many times what they do at first.
  void weigh_memory(double times) { memory_times_ = times; }
  /// Fills in PlanSums::terms_ms.
  void price_terms();
  /// PlanSums::terms_ms after an edit that leaves replicas alone.
  [[nodiscard]] double terms_ms_after(const Edit& edit) const {
    double ms = sums_.terms_ms;
    for (const PlanTerm* term : terms_) ms += term->added_ms(state_, edit);
    return ms;
  }
  /// For bytes that do not fit.
  [[nodiscard]] double memory_ms(std::int64_t missing_bytes, double cost_ms) const;

  /// Compute cost of a device, by what the head says of its slices. `hosted`: of a task with host
  /// memory.
  [[nodiscard]] float compute_ms(std::size_t device, float head_ms, int shards, double price_ms,
                                 const HostCurve* hosted) const {
    const float tables_ms = (shards == 0 ? empty_ms_ : head_ms) + static_cast<float>(price_ms);
    const float ms = devices_.compute_ms(device, tables_ms);
    return hosted == nullptr || prefetches_ ? ms : ms + fetched_ms(device, *hosted);
  }
  /// A device takes no less: so long it fetches behind the iteration before.
  [[nodiscard]] double prefetched_ms(std::size_t device, const HostCurve* hosted) const {
    return prefetches_ ? static_cast<double>(fetched_ms(device, *hosted)) : kNoPrefetch;
  }
  [[nodiscard]] bool prefetches() const { return prefetches_; }
  /// PlanSums::hosted of a device, or null.
  [[nodiscard]] const HostCurve* hosted(std::size_t device) const {
    return sums_.hosted.empty() ? nullptr : &sums_.hosted[device];
  }
  /// Compute cost of a device that has no slices, ms.
  [[nodiscard]] double empty_ms() const { return empty_ms_; }
  /// About what a column of a device takes in the all-to-alls of outputs and of gradients.
  [[nodiscard]] double ms_of_column() const { return ms_of_column_; }
  /// And what an id of a sample takes, in lookup_units().
  [[nodiscard]] double ms_of_lookup_unit() const { return ms_of_lookup_unit_; }
  /// About what a device has to do by itself.
  [[nodiscard]] double own_ms(double compute_ms, double columns, double ids) const {
    return with_ids_ms(compute_ms + ms_of_column_ * columns, ms_of_lookup_unit_ * ids);
  }
  /// Ids beside all else: the longer of the two, if they are hidden.
  [[nodiscard]] double with_ids_ms(double rest_ms, double ids_ms) const {
    return overlap().ids ? std::max(rest_ms, ids_ms) : rest_ms + ids_ms;
  }
  [[nodiscard]] const Overlap& overlap() const { return state_.task().overlap; }
  /// The iteration of a device that takes so long by itself, where replicas stay. `outputs_ms`,
  /// `gradients_ms`: the least that devices take for these all-to-alls.
  [[nodiscard]] Iteration iteration(double own_ms, double ids_ms, double outputs_ms,
                                    double gradients_ms) const {
    return iteration_of(overlap(), {.own_ms = own_ms,
                                    .ids_ms = ids_ms,
                                    .all_reduce_ms = sums_.all_reduce_ms,
                                    .outputs_ms = outputs_ms,
                                    .gradients_ms = gradients_ms});
  }
  [[nodiscard]] double replicas_ms(std::size_t device) const {
    return sums_.replicas_ms / speed(device);
  }
  /// About what a shard adds to what a device computes, at a speed of 1.
  [[nodiscard]] double added_ms(int shard) const {
    const double ms = std::max(0.0, state_.catalog().alone_ms(shard) - empty_ms_);
    const ShardLoad& load = state_.catalog().load(shard);
    if (load.hosted == nullptr) return ms;
    return ms + fetch_ms(state_.catalog().hosted(load, 0), of_all_, hosts_.front());
  }
  /// All shards of a slice add so much.
  [[nodiscard]] double added_ms(const StateSlice& slice) const {
    double ms = 0.0;
    state_.for_each_shard(slice, [&](int, int shard) { ms += added_ms(shard); });
    return ms;
  }
  [[nodiscard]] std::int64_t missing_bytes(std::size_t device, std::int64_t bytes,
                                           const HostCurve* hosted) const {
    if (hosted != nullptr) return host_point_of(device, *hosted).missing_bytes;
    return std::max<std::int64_t>(0, bytes + sums_.replica_bytes - room_bytes_[device]);
  }
  /// PlanSums::in_pools if a device holds `after` in place of `before`.
  void move_in_pools(std::size_t device, const HostCurve& before, const HostCurve& after,
                     std::vector<std::int64_t>& in_pools) const {
    in_pools[device / static_cast<std::size_t>(state_.task().devices_per_node)] +=
        host_point_of(device, after).host_bytes(after) -
        host_point_of(device, before).host_bytes(before);
  }
  /// With an equal part of what its node shares.
  [[nodiscard]] std::int64_t room_bytes(int device) const {
    return room_bytes_[static_cast<std::size_t>(device)];
  }

  /// By rank().
  [[nodiscard]] const DeviceRanks& ranks() const { return ranks_; }

  [[nodiscard]] PlanState& state() const { return state_; }
  [[nodiscard]] CostRunner& models() const { return *models_; }
  [[nodiscard]] IdExchange& ids() { return ids_; }
  /// Null: columns are seen as they are.
  [[nodiscard]] const NodeColumns* nodes() const { return nodes_; }
  [[nodiscard]] double speed(std::size_t device) const {
    return devices_.speed.empty() ? 1.0 : static_cast<double>(devices_.speed[device]);
  }

  /// So far; EditPrices adds its own.
  PricingWork work;

 private:
  [[nodiscard]] HostPoint host_point_of(std::size_t device, const HostCurve& hosted) const {
    return host_point(hosted, hbm_room_bytes_[device] - sums_.replica_bytes, hosts_[device]);
  }
  [[nodiscard]] float fetched_ms(std::size_t device, const HostCurve& hosted) const {
    return static_cast<float>(fetch_ms(hosted, host_point_of(device, hosted), hosts_[device]));
  }
  void price_replicas();
  void price_heads();
  /// Where there are no slices: nothing but base loads and replicas.
  void price_idle();
  void set_cost(const Iteration& iteration);

  PlanState& state_;
  PlanSums& sums_;
  std::vector<const PlanTerm*> terms_;
  const Backend& backend_;
  std::size_t device_count_;
  std::size_t width_;
  std::unique_ptr<CostRunner> models_;
  IdExchange ids_;
  const NodeColumns* nodes_;
  ComputeOnDevices devices_;
  std::vector<std::int64_t> room_bytes_;
  std::vector<std::int64_t> hbm_room_bytes_;  ///< [devices] of a task with host memory.
  std::vector<HostMemory> hosts_;             ///< [devices] of such a task: host_of_device().
  double all_room_bytes_ = 0.0;
  double memory_times_ = 1.0;
  bool prefetches_;
  HostPoint of_all_;  ///< Where devices are on their curves if all are like the first one.
  float empty_ms_ = 0.0F;
  double ms_of_column_ = 0.0;
  double ms_of_lookup_unit_ = 0.0;

  DeviceRanks ranks_;
  int estimated_ = 0;
  AlignedVector<float> rows_;  ///< [devices of an edit, embedding width]
  std::vector<float> heads_;
};

}  // namespace neuroshard
