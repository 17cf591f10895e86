#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/plans/sharding_kinds.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Which slices of a plan have a price of their kind: row blocks, by the kind of which their table
/// is in the plan.
class SlicePrices {
 public:
  /// Borrows `backend` and `task`. `plan` is valid, or a part of such a plan that has all slices of
  /// each table that it has any of.
  SlicePrices(const Backend& backend, const Task& task, const Plan& plan);

  /// Milliseconds of a slice of the plan, or of another one of a table of it; nothing: the models
  /// predict it.
  [[nodiscard]] std::optional<double> ms_of(const TableSlice& slice) const;

 private:
  const Task& task_;
  std::vector<const KindPrice*> of_table_;  ///< [tables], null: none; empty: none of all.
};

/// The price of row blocks of a table that is of these kinds in a plan; null: models predict them.
[[nodiscard]] const KindPrice* price_of_blocks(const Backend& backend,
                                               std::span<const ShardingKind> kinds);
/// That of a table that devices hold so, as in kinds_of_slices().
[[nodiscard]] const KindPrice* price_of_blocks(const Backend& backend, const Task& task,
                                               std::span<const HeldSlice> held);

/// Cost by `price` of `share` of the lookups of `dim` columns of `table`, for so many samples.
[[nodiscard]] double priced_ms(const KindPrice& price, const Table& table, int dim, double share,
                               double samples);

/// Backend::score_shards() of shards some of whose pieces have a price, which is added to what the
/// compute model predicts of the others. `prices_ms` is [pieces], or empty: none has one.
void score_with_prices(const Backend& backend, std::span<const float> embeddings,
                       const ShardBatch& shards, std::span<const std::optional<double>> prices_ms,
                       std::span<float> cost_ms);

}  // namespace neuroshard
