#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/plans/in_node_traffic.h"
#include "core/plans/shards_cost.h"
#include "core/plans/slice_prices.h"
#include "core/plans/slice_tables.h"
#include "neuroshard/table_features.h"

namespace neuroshard {

/// Slices of a plan, and others that might take their place, as sums_of_shards() wants them: each
/// is a piece, and devices hold any of them.
class PlacedPieces {
 public:
  /// Borrows `backend`. `task`, which is borrowed, and `plan` are as PricedPlan has them.
  PlacedPieces(const Backend& backend, const Task& task, const Plan& plan);

  /// Returns the number of the piece. `in_hbm`: what it takes there; nothing: all of it.
  std::uint32_t add(const TableSlice& slice, const std::optional<SliceMemory>& in_hbm = {});
  /// To be called once all are added.
  void embed();
  [[nodiscard]] const TableSlice& slice(std::uint32_t piece) const { return slices_[piece]; }

  /// sums_of_shards() of all devices or of some.
  [[nodiscard]] std::vector<ShardSums> sums_of(const ShardBatch& shards) const;
  /// cost_of_sums(). `on`: the devices of the task.
  [[nodiscard]] PlanCost cost_of(const Task& on, std::span<const HostedPlan::OfDevice> hosted,
                                 std::span<const ShardSums> sums) const {
    return cost_of_sums(backend_, on, hosted, in_node_, sums);
  }

 private:
  const Backend& backend_;
  const Task& task_;
  SliceTables tables_;
  SlicePrices prices_;
  OperatorFeatures of_operator_;
  InNodeTraffic in_node_;
  std::vector<TableSlice> slices_;
  std::vector<float> features_;
  std::vector<float> embeddings_;
  std::vector<std::int32_t> columns_;
  std::vector<std::int32_t> table_ids_;
  std::vector<SliceMemory> memory_;
  std::vector<std::int64_t> lookups_;
  std::vector<std::int64_t> ids_;
  std::vector<std::optional<double>> prices_ms_;
  bool any_price_ = false;
};

}  // namespace neuroshard
