#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/placement/cpu_backend.h"
#include "search/canonical_task.h"
#include "search/layout.h"

namespace neuroshard::testing {

/// What searches work on: a task's tables in canonical order, and their pieces.
struct CatalogedTask {
  CatalogedTask(const Backend& backend, const Task& listed)
      : canonical(listed), task(canonical.task), catalog(backend, task) {}

  CanonicalTask canonical;
  const Task& task;
  PieceCatalog catalog;
};

/// The backend that "auto" takes.
[[nodiscard]] CpuBackend cpu_backend_of(const CostModels& models);

/// A plan for the task of `catalog` as a layout; `plan` is valid, and has halvings only.
[[nodiscard]] inline Layout layout_of(const PieceCatalog& catalog, const Plan& plan) {
  Layout layout;
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int index : plan.shards[device]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const auto table = static_cast<std::uint32_t>(slice.table);
      layout.push_back(
          {catalog.piece(table, slice.dim), table, static_cast<std::uint32_t>(device)});
    }
  }
  return layout;
}

/// Slices by device, then by piece, then by table.
inline void sort_layout(Layout& layout) {
  std::ranges::sort(layout, {}, [](const PlacedSlice& slice) {
    return std::tuple(slice.device, slice.piece, slice.table);
  });
}

/// Memory of the device that needs most.
[[nodiscard]] std::int64_t most_memory_bytes(const PieceCatalog& catalog, const Task& task,
                                             const Layout& layout);

}  // namespace neuroshard::testing
