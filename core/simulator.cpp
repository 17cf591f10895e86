#include "neuroshard/simulator.h"

#include <numeric>
#include <vector>

#include "core/shards_cost.h"

namespace neuroshard {

PlanCost simulate(const Backend& backend, const Task& task, const Plan& plan) {
  validate(task);
  validate(plan, task);
  std::vector<float> features;
  std::vector<std::int32_t> dims;
  std::vector<SliceMemory> memory;
  std::vector<std::uint32_t> offsets{0};
  for (const std::vector<int>& shard : plan.shards) {
    for (const int index : shard) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const Table table = table_of(task, slice);
      const auto row = table_features(table, slice.dim);
      features.insert(features.end(), row.begin(), row.end());
      dims.push_back(slice.dim);
      memory.push_back(slice_memory(table, slice.dim));
    }
    offsets.push_back(static_cast<std::uint32_t>(dims.size()));
  }
  std::vector<float> embeddings(dims.size() * static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings);
  std::vector<std::uint32_t> ids(dims.size());
  std::iota(ids.begin(), ids.end(), 0U);
  return cost_of_shards(backend, {.task = task,
                                  .embeddings = embeddings,
                                  .dims = dims,
                                  .memory = memory,
                                  .shards = {offsets, ids}});
}

}  // namespace neuroshard
