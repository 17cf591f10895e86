#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/plans/host_rows.h"
#include "core/plans/id_exchange.h"
#include "core/plans/in_node_traffic.h"
#include "core/plans/slice_prices.h"
#include "core/plans/slice_tables.h"
#include "core/tables/host_shares.h"
#include "neuroshard/backend.h"
#include "neuroshard/explanation.h"

namespace neuroshard {

/// The slices of a plan, and others that might take their place.
class ChangePieces {
 public:
  ChangePieces(const Backend& backend, const Task& task, const Plan& plan);

  /// Returns the id of the piece.
  std::uint32_t add(const TableSlice& slice);

  /// Columns that the all-to-alls have of the piece; 0 if it has a price.
  [[nodiscard]] float dim(std::uint32_t piece) const { return dims_[piece]; }
  [[nodiscard]] std::int64_t ids(std::uint32_t piece) const { return ids_[piece]; }
  /// The task has host memory.
  [[nodiscard]] const HostCurve& host_curve(std::uint32_t piece, std::size_t device) const {
    return hosted_[piece * links_.gb_s.size() + links_.of_device[device]];
  }
  /// [pieces]; nothing: the models predict it.
  [[nodiscard]] std::span<const std::optional<double>> prices_ms() const { return prices_ms_; }
  [[nodiscard]] std::vector<float> embeddings(const Backend& backend) const;

 private:
  const Task& task_;
  SliceTables tables_;
  HostCurves host_curves_;
  HostLinks links_;
  SlicePrices prices_;
  OperatorFeatures of_operator_;
  ExchangeTypes exchange_;
  std::vector<float> features_;
  std::vector<std::optional<double>> prices_ms_;
  std::vector<float> dims_;
  std::vector<std::int64_t> ids_;
  std::vector<HostCurve> hosted_;  ///< [pieces, links]
};

using ChangeShard = std::vector<std::uint32_t>;  ///< Pieces of a device.

/// A device with other pieces than in the plan, or another base load or speed than the task's.
struct ChangedShard {
  std::size_t device;
  ChangeShard pieces;
  std::optional<float> base_ms{};
  std::optional<float> speed{};
};
using PlanChange = std::vector<ChangedShard>;

/// Prices many changes of a plan in few calls of the backend.
class ChangeCosts {
 public:
  /// Borrows `task`, of which `plan` is one, and `pieces`. `devices` are those of the plan, as
  /// simulate() has them. The cost of replicas changes with speeds alone.
  ChangeCosts(const Backend& backend, const Task& task, const Plan& plan,
              const ChangePieces& pieces, const std::vector<ChangeShard>& shards,
              const std::vector<DeviceCost>& devices);

  [[nodiscard]] std::vector<ChangedCost> of(const std::vector<PlanChange>& changes) const;

 private:
  [[nodiscard]] float dim_sum(const ChangeShard& shard) const;
  [[nodiscard]] std::int64_t ids(const ChangeShard& shard) const;
  [[nodiscard]] double ids_ms(const PlanChange& change, IdExchange& exchange) const;
  /// A device with these pieces fetches so long from its host; 0 if outputs do not wait for it.
  [[nodiscard]] float waited_ms(std::size_t device, const ChangeShard& shard) const {
    return prefetches(task_) ? 0.0F : fetched_ms(device, shard);
  }
  [[nodiscard]] float fetched_ms(std::size_t device, const ChangeShard& shard) const;
  [[nodiscard]] std::vector<float> compute_of(const std::vector<const ChangeShard*>& shards) const;
  /// Cost on a device of a shard for which the models predict `ms`.
  [[nodiscard]] float tables_ms(float ms, float speed) const {
    return any_slices_ ? ms / speed : 0.0F;
  }
  void add_costs(std::span<const PlanChange> changes, std::vector<ChangedCost>& costs) const;

  const Backend& backend_;
  const Task& task_;
  const ChangePieces& pieces_;
  InNodeTraffic in_node_;
  std::int64_t replica_bytes_;  ///< On each device.
  std::vector<float> embeddings_;
  std::size_t devices_;
  std::vector<float> base_ms_;  ///< [devices]
  std::vector<float> speed_;    ///< [devices]
  Overlap overlap_;
  double all_reduce_ms_;
  bool any_slices_;                   ///< Else the plan has no operators of slices, no all-to-alls.
  std::vector<double> replicas_ms_;   ///< [devices]
  std::vector<float> compute_ms_;     ///< [devices]: with base loads and speeds.
  std::vector<float> prefetched_ms_;  ///< [devices]
  std::vector<float> dim_sums_;       ///< [devices]: InNodeTraffic::columns().
  std::vector<std::int64_t> ids_;     ///< [devices]: InNodeTraffic::ids().
};

}  // namespace neuroshard
