#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "core/plans/deduplicated_task.h"
#include "core/plans/host_rows.h"
#include "core/plans/slice_tables.h"
#include "core/plans/touched_gradients.h"
#include "core/tables/host_shares.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/backend.h"
#include "neuroshard/cost_runner.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/table_features.h"
#include "neuroshard/task.h"
#include "search/bundled_task.h"

namespace neuroshard {

/// A shard adds this to a device that holds it, beside its embedding.
struct ShardLoad {
  std::int64_t bytes = 0;
  std::int64_t stored_bytes = 0;  ///< By StoragePrice; 0 if that is 0.
  std::int64_t ids = 0;           ///< id_units(); 0 if the shard has a price.
  int columns = 0;                ///< That are exchanged; 0 if the shard has a price.
  double price_ms = 0.0;          ///< Price of its kind of sharding; its embedding is then zero.
  const HostCurve* hosted = nullptr;  ///< [links to hosts]: curves of a task with host memory.
};

/// A table adds this to every device if it is replicated, beside its embedding.
struct ReplicaLoad {
  std::int64_t bytes = 0;
  std::int64_t stored_bytes = 0;  ///< By StoragePrice; 0 if that is 0.
  double dense_bytes = 0.0;       ///< TouchedGradients::dense_bytes().
  double price_ms = 0.0;          ///< Price of replicas; the embedding is then zero.
};

/// Every shard that a search asks for: some columns of some rows of a table. A number stands for
/// one; it is embedded when it is asked for first, with its neighbours in width, and remembered.
/// Tables of one kind share their shards. One per thread.
class ShardCatalog {
 public:
  /// Borrows the first two. `bundled.task` is valid; equal tables follow each other in it.
  ShardCatalog(const Backend& backend, const BundledTask& bundled,
               const StoragePrice& storage = {});

  /// A number for rows of a table. `price`: of the kind of sharding that such blocks are, or null.
  /// `deduplicated`: whether that table is (Plan::deduplicated).
  [[nodiscard]] int rows(int table, std::int64_t first_row, std::int64_t count,
                         const KindPrice* price = nullptr, bool deduplicated = false);
  [[nodiscard]] int all_rows(int table) {
    return rows(table, 0, task_.tables[static_cast<std::size_t>(table)].rows);
  }
  /// The shard of so many columns, a multiple of kDimMultiple, of rows(). A bundle has all of its
  /// columns.
  [[nodiscard]] int shard(int rows, int width);
  /// The shard that a device computes of a replicated table.
  [[nodiscard]] int replica(int table);

  [[nodiscard]] const ShardLoad& load(int shard) const {
    return loads_[static_cast<std::size_t>(shard)];
  }
  /// The task has host memory.
  [[nodiscard]] const HostCurve& hosted(const ShardLoad& load, std::size_t device) const {
    return load.hosted[links_.of_device[device]];
  }
  [[nodiscard]] const ReplicaLoad& replica_load(int table);
  /// [embedding width]; until the next shard is asked for.
  [[nodiscard]] const float* embedding(int shard) const {
    return embeddings_.data() + static_cast<std::size_t>(shard) * width_;
  }
  [[nodiscard]] const TouchedGradients& gradients() const { return gradients_; }
  /// Compute cost of a shard alone, ms.
  [[nodiscard]] double alone_ms(int shard);
  /// Compute cost beside another one like it, ms: without what an operator takes once.
  [[nodiscard]] double more_ms(int shard);

  [[nodiscard]] std::size_t embedding_width() const { return width_; }
  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const Backend& backend() const { return backend_; }

 private:
  /// Widths that are embedded at once: of many tables few widths are ever asked for.
  static constexpr int kWidthsOfBlock = 16;
  static constexpr int kNotYet = -1;

  struct Rows {
    int table;
    std::int64_t first_row;
    std::int64_t count;
    const KindPrice* price;
    bool deduplicated;
    std::vector<int> first_of_block;  ///< The first shard of each block of widths, or kNotYet.
  };

  /// Adds what so many rows of `table` take.
  void add_memory(const Table& table, std::int64_t rows, const SliceMemory& memory,
                  auto& load) const;
  SliceTables& tables_once();
  int add(const std::vector<float>& features, const std::vector<ShardLoad>& loads);
  int add_widths(const Rows& rows, int first_width, int widths);
  int add_bundle(const BundledTask::Bundle& bundle);

  const Backend& backend_;
  const BundledTask& bundled_;
  const Task& task_;
  StoragePrice storage_;
  std::size_t width_;
  OperatorFeatures of_slices_;
  OperatorFeatures of_replicas_;
  std::unique_ptr<CostRunner> models_;
  SliceTables tables_;
  std::optional<DeduplicatedTask> once_;  ///< All tables that may be deduplicated are; made late.
  std::optional<SliceTables> tables_once_;
  TouchedGradients gradients_;
  std::vector<int> same_as_;  ///< [tables]: the first equal one.
  std::map<std::tuple<int, std::int64_t, std::int64_t, const KindPrice*, bool>, int> rows_of_;
  std::vector<Rows> rows_;
  std::vector<int> replicas_;  ///< [tables], or kNotYet.
  std::vector<std::unique_ptr<ReplicaLoad>> replica_loads_;
  std::vector<ShardLoad> loads_;
  HostCurves host_curves_;
  HostLinks links_;
  std::deque<std::vector<HostCurve>> hosted_;  ///< Curves that loads point to.
  std::vector<double> alone_ms_;
  std::vector<double> more_ms_;
  AlignedVector<float> embeddings_;
};

}  // namespace neuroshard
