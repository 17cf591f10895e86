#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/step_budget.h"
#include "core/tables/table_rules.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/backend.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/table_features.h"
#include "neuroshard/task.h"
#include "search/bundled_task.h"

namespace neuroshard {

/// Every piece that column splits can make of a task's tables: for each table one piece per dim
/// level (dim, dim / 2, dim / 4, ...) that its rules allow. Equal tables share their pieces, unless
/// groups keep them apart. A bundle is one piece, which costs what its tables cost together.
class PieceCatalog {
 public:
  /// `task` is valid. Without embeddings and costs: embed() fills them in. `table_features`: those
  /// of the backend that embeds. `bundled`: what `task` is the task of, if it has bundles; messages
  /// then name the listed tables. `stop`: once it is reached, embed() fills in nothing.
  PieceCatalog(const Task& task, int table_features, const BundledTask* bundled = nullptr,
               const StopCondition& stop = {});
  PieceCatalog(const Backend& backend, const Task& task);

  /// Computes embeddings and costs of the pieces of all `catalogs` together, in two calls to the
  /// backend, or in two for each part if `stop` can be reached. Once it is, none has any. They do
  /// not depend on the backend, nor on the company.
  static void embed(const Backend& backend, std::span<PieceCatalog> catalogs,
                    const StopCondition& stop = {});
  /// Throws Error naming the table if the compute model's cost of a piece is no number: nothing
  /// could be put in order by it.
  void require_costs() const;

  [[nodiscard]] std::size_t size() const { return dims_.size(); }
  [[nodiscard]] std::size_t tables() const { return whole_.size(); }
  /// The piece that is the whole table.
  [[nodiscard]] std::uint32_t whole(std::size_t table) const { return whole_[table]; }
  /// Whether a slice of this piece may be halved, as far as it alone is concerned.
  [[nodiscard]] bool can_split(std::uint32_t piece) const { return can_split_[piece] != 0; }
  /// Whether all slices of a table may be halved that are this piece.
  [[nodiscard]] bool can_split_all(std::uint32_t piece) const { return can_split_all_[piece] != 0; }
  /// Either half of a piece that can be split.
  [[nodiscard]] std::uint32_t half(std::uint32_t piece) const { return piece + 1; }

  [[nodiscard]] std::int64_t size_bytes(std::uint32_t piece) const { return size_bytes_[piece]; }
  /// Compute cost of a shard of this piece alone.
  [[nodiscard]] float cost_ms(std::uint32_t piece) const { return cost_ms_[piece]; }

  /// Floats of an embedding; 0 until embed().
  [[nodiscard]] std::size_t embedding_width() const { return embeddings_.size() / size(); }
  [[nodiscard]] const float* embedding(std::uint32_t piece) const {
    return embeddings_.data() + piece * embedding_width();
  }

  [[nodiscard]] int dim(std::uint32_t piece) const { return dims_[piece]; }
  /// output_columns() of each piece.
  [[nodiscard]] const std::vector<std::int32_t>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::int64_t>& sizes_bytes() const { return size_bytes_; }
  [[nodiscard]] const AlignedVector<float>& embeddings() const { return embeddings_; }
  [[nodiscard]] const std::vector<float>& costs_ms() const { return cost_ms_; }
  /// can_split_all() of each piece, as 0 or 1.
  [[nodiscard]] const std::vector<std::uint8_t>& can_split_all() const { return can_split_all_; }

 private:
  void add_pieces(const Table& table, std::uint32_t listed, const Halvings& halvings,
                  const OperatorFeatures& features, StepBudget& budget);
  void add_bundle(const BundledTask::Bundle& bundle, const OperatorFeatures& features,
                  StepBudget& budget);
  /// Takes what the models said of the pieces that they were asked for.
  void take(const Backend& backend, std::span<const float> embeddings,
            std::span<const float> cost_ms);

  std::vector<std::uint32_t> whole_;
  std::vector<std::uint32_t> listed_;  ///< [pieces]: the listed table of each; the first of equals.
  std::vector<std::int32_t> dims_;
  std::vector<std::int32_t> columns_;  ///< output_columns()
  std::vector<std::int64_t> size_bytes_;
  std::vector<std::uint8_t> can_split_;  ///< [pieces]: 0 or 1.
  std::vector<std::uint8_t> can_split_all_;
  /// Pieces that the models are asked for; those after them are bundles.
  std::size_t embedded_ = 0;
  std::vector<std::vector<std::uint32_t>> tables_of_bundles_;  ///< [bundles]: pieces of each.
  std::vector<float> features_;  ///< [embedded_], until embed(); none at a stop.
  AlignedVector<float> embeddings_;
  std::vector<float> cost_ms_;
};

}  // namespace neuroshard
