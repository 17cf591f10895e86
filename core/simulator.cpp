#include "neuroshard/simulator.h"

#include <vector>

#include "core/shards_cost.h"

namespace neuroshard {

PlanCost simulate(const Backend& backend, const Task& task, const Plan& plan) {
  validate(task);
  validate(plan, task);
  const std::vector<TableSlice> slices = split_columns(task, plan.column_splits);

  std::vector<float> features;
  features.reserve(slices.size() * kTableFeatures);
  std::vector<std::int32_t> dims;
  std::vector<std::int64_t> size_bytes;
  for (const TableSlice& slice : slices) {
    const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
    const auto row = table_features(table, slice.dim);
    features.insert(features.end(), row.begin(), row.end());
    dims.push_back(slice.dim);
    size_bytes.push_back(table.rows * slice.dim * 4);
  }
  std::vector<float> embeddings(slices.size() *
                                static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings);

  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> ids;
  for (const auto& shard : plan.shards) {
    ids.insert(ids.end(), shard.begin(), shard.end());
    offsets.push_back(static_cast<std::uint32_t>(ids.size()));
  }
  return cost_of_shards(backend, {.devices = task.devices,
                                  .memory_bytes = task.memory_bytes,
                                  .embeddings = embeddings,
                                  .dims = dims,
                                  .size_bytes = size_bytes,
                                  .shards = {offsets, ids}});
}

}  // namespace neuroshard
