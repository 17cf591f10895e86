#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/plans/sharding_kinds.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "search/state/held_shards.h"
#include "search/state/moved_bytes.h"
#include "search/state/plan_limits.h"
#include "search/state/shard_catalog.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// A change of a plan: slices that leave, by number, and slices that come, replicas among them. All
/// columns of a table that leave come back.
struct Edit {
  std::vector<int> out;
  std::vector<StateSlice> in;

  void clear() {
    out.clear();
    in.clear();
  }
  [[nodiscard]] bool empty() const { return out.empty() && in.empty(); }
};

/// Less than any time, also one that is predicted below 0.
inline constexpr double kNoPrefetch = -std::numeric_limits<double>::infinity();

/// Sums over the shards of each device, and what they cost: flat, so that a copy is cheap.
struct PlanSums {
  AlignedVector<float> embeddings;  ///< [devices, embedding width]
  std::vector<double> price_ms;     ///< [devices]: of shards that have a price.
  std::vector<float> columns;       ///< [devices]
  std::vector<std::int64_t> ids;    ///< [devices]: id_units().
  std::vector<std::int64_t> bytes;  ///< [devices]: without replicas.
  std::vector<int> shards;          ///< [devices]
  /// [devices] where that has a price, by StoragePrice; else empty.
  std::vector<std::int64_t> stored_bytes;
  std::vector<HostCurve> hosted;  ///< [devices] of a task with host memory; else empty.
  /// pooled_bytes(): of slices, in the host memory of nodes that devices share.
  std::vector<std::int64_t> in_pools;
  int slices = 0;  ///< Without replicas; with blocks that stay as they are.

  // Where a plan runs:
  std::vector<std::int64_t> moved_of_table;  ///< [tables]
  std::int64_t moved_bytes = 0;

  AlignedVector<float> replicas;      ///< [embedding width]: of tables_on_every_device().
  std::vector<char> is_replica;       ///< [tables]
  std::vector<char> is_deduplicated;  ///< [tables]
  int deduplicated_count = 0;
  double replica_price_ms = 0.0;
  double dense_bytes = 0.0;
  std::int64_t replica_bytes = 0;
  std::int64_t replica_stored_bytes = 0;  ///< By StoragePrice.
  int replica_count = 0;

  // By StatePrices:
  std::vector<float> compute_ms;      ///< [devices]: of slices.
  std::vector<float> seen;            ///< [devices]: columns as the communication models see them.
  std::vector<float> backward_ms;     ///< [devices]
  std::vector<double> total_ms;       ///< [devices]: without ids, all-reduce and dense part.
  std::vector<double> prefetched_ms;  ///< [devices]: the least that each takes.
  double replicas_ms = 0.0;
  double all_reduce_ms = 0.0;
  double ids_ms = 0.0;
  double hidden_ms = 0.0;          ///< The slowest device hides so much of the ids.
  double terms_ms = 0.0;           ///< Sum of all PlanTerms.
  double cost_ms = 0.0;            ///< Without Overlap::host_ms, which hides what plans differ in.
  std::int64_t missing_bytes = 0;  ///< That do not fit.
};

/// A plan of a task while it is searched: where each slice is, and sums of what devices hold. Edits
/// are applied in place and taken back. Tables in other ways than TableWays leaves them stay as
/// they are: uneven row blocks.
class PlanState {
 public:
  /// Borrows all. `plan`: a valid one of the catalog's task; a table that it does not have is
  /// nowhere until an edit brings it. `moved`: from the plan that runs; null: there is none. Once
  /// `stop` is reached, the state is left without tables.
  PlanState(ShardCatalog& catalog, const TableWays& ways, const Plan& plan,
            MovedBytes* moved = nullptr, const StopCondition& stop = {});

  /// Slices have columns that their devices hold. Where no plan runs, wide slices of a table have
  /// its first columns, so that halves of halves are such.
  [[nodiscard]] Plan plan() const;

  /// Lists and sums follow; costs are for StatePrices.
  void apply(const Edit& edit);
  /// Edits from here on can be taken back.
  void begin_undo() { journal_.clear(); }
  /// Takes back all edits since begin_undo(), when sums were `before`.
  void undo(const PlanSums& before);
  /// Devices that the last edit changed.
  [[nodiscard]] std::span<const int> touched() const { return last_touched_; }
  /// Whether it changed which tables are replicas, or deduplicated.
  [[nodiscard]] bool replicas_changed() const { return replicas_changed_; }

  /// Calls visit(device, shard) for all that a slice puts on devices: nothing of a replica, whose
  /// load is common to all.
  template <typename Visit>
  void for_each_shard(const StateSlice& slice, const Visit& visit) const {
    if (slice.way == Way::kDevice) {
      const int rows = all_rows_[static_cast<std::size_t>(slice.table)];
      return visit(slice.place, catalog_.shard(rows, slice.width));
    }
    if (slice.way == Way::kReplica) return;
    const TableWays::Blocks& blocks = ways_.blocks(slice.table, slice.way);
    const int first = slice.place * ways_.group(slice.way);
    for (int i = 0; i < blocks.count; ++i) {
      visit(first + i, catalog_.shard(blocks.of(i), slice.width));
    }
  }

  [[nodiscard]] const StateSlice& slice(int id) const {
    return slices_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const std::vector<int>& of_table(int table) const {
    return of_table_[static_cast<std::size_t>(table)];
  }
  /// Slices of a way, not kReplica, at a place.
  [[nodiscard]] const std::vector<int>& at(Way way, int place) const {
    return lists_[list_of(way, place)];
  }
  /// Slices of which a device has all rows or some of them; none if it is of no group.
  [[nodiscard]] const std::vector<int>& on(Way way, int device) const {
    return at(way, device / ways_.group(way));
  }
  [[nodiscard]] bool is_replica(int table) const {
    return sums.is_replica[static_cast<std::size_t>(table)] != 0;
  }
  /// No table is missing.
  [[nodiscard]] bool is_whole() const;
  /// Tables that may be changed, ascending.
  [[nodiscard]] const std::vector<int>& tables() const { return movable_; }
  /// Bytes that have to be moved after an edit of few slices.
  [[nodiscard]] std::int64_t moved_bytes_after(const Edit& edit) const;
  /// The most that a device stores, replicas included. Only where that has a price.
  [[nodiscard]] std::int64_t most_stored_bytes() const {
    return std::ranges::max(sums.stored_bytes) + sums.replica_stored_bytes;
  }
  /// After an edit of few slices that leaves replicas alone.
  [[nodiscard]] std::int64_t most_stored_bytes_after(const Edit& edit) const;
  /// Slices of tables that stay as they are.
  [[nodiscard]] const std::vector<HeldSlice>& fixed() const { return fixed_; }
  /// All that plans have to keep to.
  [[nodiscard]] const std::vector<const PlanLimit*>& limits() const { return limits_; }
  /// Null: no plan runs.
  [[nodiscard]] MovedBytes* moved() const { return moved_; }
  [[nodiscard]] Way way_of(int table) const { return slice(of_table(table).front()).way; }

  [[nodiscard]] ShardCatalog& catalog() const { return catalog_; }
  [[nodiscard]] const TableWays& ways() const { return ways_; }
  [[nodiscard]] const Task& task() const { return catalog_.task(); }

  PlanSums sums;

 private:
  struct Applied {
    std::vector<StateSlice> out;
    std::vector<int> in;
  };

  void read(const Plan& plan, const StopCondition& stop);
  /// Slices of a table that comes with the edit, from this one on.
  void embed(const Edit& edit, std::size_t first) const;
  [[nodiscard]] std::vector<int> groups_of(const TableWays::OfTable& ways, bool deduplicated) const;
  void fix_table(const std::vector<HeldSlice>& held);
  [[nodiscard]] std::size_t list_of(Way way, int place) const {
    return first_lists_[static_cast<std::size_t>(way)] + static_cast<std::size_t>(place);
  }
  int put(const StateSlice& slice);
  StateSlice drop(int id);
  void touch(int device);
  void sum_up_touched();
  void sum_up(int device);
  void set_replica(int table, bool is_replica);
  void count_once(const StateSlice& slice, int by);
  void see_deduplicated();
  void sum_up_replicas();
  void count_moves(const Edit& edit);

  ShardCatalog& catalog_;
  const TableWays& ways_;
  MovedBytes* moved_;
  std::vector<const PlanLimit*> limits_;
  std::vector<int> all_rows_;  ///< [tables]
  std::vector<StateSlice> slices_;
  std::vector<int> free_;
  std::vector<std::vector<int>> of_table_;
  std::vector<std::vector<int>> lists_;  ///< Numbers of slices, by list_of().
  std::array<std::size_t, kMostForms> first_lists_{};
  std::vector<std::size_t> index_;     ///< Where each slice is in its list.
  std::vector<HeldShards> shards_on_;  ///< [devices]
  std::vector<HeldSlice> fixed_;       ///< For good.
  std::vector<int> movable_;
  std::vector<Applied> journal_;
  std::vector<int> touched_;
  std::vector<int> last_touched_;
  bool replicas_changed_ = false;
  std::vector<int> slices_once_;  ///< [tables]: of those in a way that deduplicates.
  std::vector<int> seen_once_;    ///< Tables of which an edit changes that.
  std::vector<char> is_touched_;
  std::vector<char> is_fixed_;  ///< [tables]
  mutable std::vector<StateSlice> of_one_table_;
  mutable std::vector<std::int64_t> stored_after_;
};

}  // namespace neuroshard
