#include "search/random_layouts.h"

#include <algorithm>

#include "core/kernels/cpu_kernels.h"

namespace neuroshard::testing {

CpuBackend cpu_backend_of(const CostModels& models) {
  return CpuBackend(select_cpu_kernels("auto"), models, /*reuse_work=*/true);
}

Layout random_layout(const CatalogedTask& cataloged, double halvings, std::mt19937_64& random) {
  const PieceCatalog& catalog = cataloged.catalog;
  Layout layout;
  for (std::uint32_t table = 0; table < catalog.tables(); ++table) {
    layout.push_back({catalog.whole(table), table, 0});
  }
  const auto tries = static_cast<std::size_t>(halvings * static_cast<double>(catalog.tables()));
  for (std::size_t i = 0; i < tries; ++i) {
    PlacedSlice& slice = layout[random() % layout.size()];
    if (!catalog.can_split(slice.piece)) continue;
    slice.piece = catalog.half(slice.piece);
    const PlacedSlice other = slice;
    layout.push_back(other);
  }
  std::shuffle(layout.begin(), layout.end(), random);
  for (PlacedSlice& slice : layout) {
    slice.device =
        static_cast<std::uint32_t>(random() % static_cast<unsigned>(cataloged.task.devices));
  }
  return layout;
}

std::int64_t columns_of(const PieceCatalog& catalog, const Layout& layout, std::uint32_t table) {
  std::int64_t columns = 0;
  for (const PlacedSlice& slice : layout) {
    if (slice.table == table) columns += catalog.dim(slice.piece);
  }
  return columns;
}

std::int64_t most_memory_bytes(const PieceCatalog& catalog, const Task& task,
                               const Layout& layout) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(task.devices));
  for (const PlacedSlice& slice : layout) memory[slice.device] += catalog.size_bytes(slice.piece);
  return *std::max_element(memory.begin(), memory.end());
}

}  // namespace neuroshard::testing
