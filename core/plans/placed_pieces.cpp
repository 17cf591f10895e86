#include "core/plans/placed_pieces.h"

#include "core/plans/id_exchange.h"

namespace neuroshard {

PlacedPieces::PlacedPieces(const Backend& backend, const Task& task, const Plan& plan)
    : backend_(backend),
      task_(task),
      tables_(task),
      prices_(backend, task, plan),
      of_operator_(backend.table_features(), static_cast<double>(task.batch_size)),
      in_node_(task, plan, node_shares(backend.network(), task)) {}

std::uint32_t PlacedPieces::add(const TableSlice& slice, const std::optional<SliceMemory>& in_hbm) {
  const Table table = tables_.of(slice);
  of_operator_.append(table, slice.dim, features_);
  columns_.push_back(output_columns(table, slice.dim));
  table_ids_.push_back(slice.table);
  memory_.push_back(in_hbm ? *in_hbm : slice_memory(table, slice.dim));
  lookups_.push_back(lookup_units(table.pooling_factor));
  ids_.push_back(id_units(table, task_.exchange));
  prices_ms_.push_back(prices_.ms_of(slice));
  any_price_ |= prices_ms_.back().has_value();
  slices_.push_back(slice);
  return static_cast<std::uint32_t>(slices_.size() - 1);
}

void PlacedPieces::embed() {
  embeddings_.resize(slices_.size() * static_cast<std::size_t>(backend_.embedding_width()));
  backend_.embed_pieces(features_, embeddings_);
}

std::vector<ShardSums> PlacedPieces::sums_of(const ShardBatch& shards) const {
  PlacedShards placed{.task = task_,
                      .embeddings = embeddings_,
                      .columns = columns_,
                      .memory = memory_,
                      .lookups = lookups_,
                      .ids = ids_,
                      .tables = table_ids_,
                      .shards = shards};
  if (any_price_) placed.prices_ms = prices_ms_;
  return sums_of_shards(backend_, placed);
}

}  // namespace neuroshard
