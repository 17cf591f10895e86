#include "search/random_layouts.h"

#include <algorithm>

#include "core/kernels/cpu_kernels.h"

namespace neuroshard::testing {

CpuBackend cpu_backend_of(const CostModels& models) {
  return CpuBackend(select_cpu_kernels("auto"), models, /*reuse_work=*/true);
}

std::int64_t most_memory_bytes(const PieceCatalog& catalog, const Task& task,
                               const Layout& layout) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(task.devices));
  for (const PlacedSlice& slice : layout) memory[slice.device] += catalog.size_bytes(slice.piece);
  return *std::max_element(memory.begin(), memory.end());
}

}  // namespace neuroshard::testing
