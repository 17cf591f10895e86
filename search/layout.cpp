#include "search/layout.h"

namespace neuroshard {

PlanCost cost_of(const Backend& backend, const PieceCatalog& catalog, const Task& task,
                 const Layout& layout) {
  std::vector<std::uint32_t> offsets(static_cast<std::size_t>(task.devices) + 1, 0);
  const auto pieces_of = [&](const PlacedSlice& slice) {
    const std::span<const std::uint32_t> bundle = catalog.tables_of_bundle(slice.piece);
    return bundle.empty() ? std::span(&slice.piece, 1) : bundle;
  };
  for (const PlacedSlice& slice : layout) {
    offsets[slice.device + 1] += static_cast<std::uint32_t>(pieces_of(slice).size());
  }
  for (std::size_t d = 0; d + 1 < offsets.size(); ++d) offsets[d + 1] += offsets[d];
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<std::uint32_t> ids(offsets.back());
  for (const PlacedSlice& slice : layout) {
    for (const std::uint32_t piece : pieces_of(slice)) ids[next[slice.device]++] = piece;
  }
  return cost_of_shards(backend, {.task = task,
                                  .embeddings = catalog.embeddings(),
                                  .columns = catalog.columns(),
                                  .memory = catalog.memory(),
                                  .lookups = catalog.lookups(),
                                  .shards = {offsets, ids}});
}

}  // namespace neuroshard
