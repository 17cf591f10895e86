#include "search/random_layouts.h"

#include <algorithm>

#include "core/kernels/cpu_kernels.h"
#include "core/plans/id_exchange.h"
#include "core/plans/shards_cost.h"

namespace neuroshard::testing {

CpuBackend cpu_backend_of(const CostModels& models) {
  return CpuBackend(select_cpu_kernels("auto"), models, /*reuse_work=*/true);
}

PlanCost cost_of(const Backend& backend, const PieceCatalog& catalog, const Task& task,
                 const Layout& layout) {
  std::vector<SliceMemory> memory(catalog.size());
  std::vector<std::int64_t> lookups(catalog.size());
  std::vector<std::uint32_t> offsets(static_cast<std::size_t>(task.devices) + 1, 0);
  for (const PlacedSlice& slice : layout) {
    const Table& table = task.tables[slice.table];
    memory[slice.piece] = slice_memory(table, catalog.dim(slice.piece));
    lookups[slice.piece] = lookup_units(table.pooling_factor);
    ++offsets[slice.device + 1];
  }
  for (std::size_t d = 0; d + 1 < offsets.size(); ++d) offsets[d + 1] += offsets[d];
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<std::uint32_t> ids(offsets.back());
  for (const PlacedSlice& slice : layout) ids[next[slice.device]++] = slice.piece;
  return cost_of_shards(backend, {.task = task,
                                  .embeddings = catalog.embeddings(),
                                  .columns = catalog.columns(),
                                  .memory = memory,
                                  .lookups = lookups,
                                  .ids = lookups,
                                  .shards = {offsets, ids}});
}

std::int64_t most_memory_bytes(const PieceCatalog& catalog, const Task& task,
                               const Layout& layout) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(task.devices));
  for (const PlacedSlice& slice : layout) memory[slice.device] += catalog.size_bytes(slice.piece);
  return *std::max_element(memory.begin(), memory.end());
}

}  // namespace neuroshard::testing
