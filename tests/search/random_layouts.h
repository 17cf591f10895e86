#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/placement/cpu_backend.h"
#include "search/canonical_task.h"
#include "search/piece_catalog.h"

namespace neuroshard::testing {

/// Input of searches: a task's tables in canonical order, and their pieces.
struct CatalogedTask {
  CatalogedTask(const Backend& backend, const Task& listed)
      : canonical(canonical_task(listed)), task(canonical.task), catalog(backend, task) {}

  BundledTask canonical;
  const Task& task;
  PieceCatalog catalog;
};

/// The backend that "auto" takes.
[[nodiscard]] CpuBackend cpu_backend_of(const CostModels& models);

/// A slice of a table on a device.
struct PlacedSlice {
  std::uint32_t piece = 0;  ///< In the task's catalog; says the table's kind and the width.
  std::uint32_t table = 0;
  std::uint32_t device = 0;

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const PlacedSlice&, const PlacedSlice&) = default;
};

/// A complete plan by its slices, in any order. The order within a device is that in which
/// embeddings are summed. Which columns of its table a slice has does not matter to costs.
using Layout = std::vector<PlacedSlice>;

/// Predicted cost, as simulate() of the layout's plan has it to the last bit; many times as fast,
/// since nothing is embedded.
[[nodiscard]] PlanCost cost_of(const Backend& backend, const PieceCatalog& catalog,
                               const Task& task, const Layout& layout);

/// A table halved until it has `dim` columns, which halving leads to.
[[nodiscard]] inline std::uint32_t piece_of(const PieceCatalog& catalog, std::size_t table,
                                            int dim) {
  std::uint32_t piece = catalog.whole(table);
  while (catalog.dim(piece) > dim) piece = catalog.half(piece);
  return piece;
}

/// A plan for the task of `catalog` as a layout; `plan` is valid, and has halvings only.
[[nodiscard]] inline Layout layout_of(const PieceCatalog& catalog, const Plan& plan) {
  Layout layout;
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int index : plan.shards[device]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const auto table = static_cast<std::uint32_t>(slice.table);
      layout.push_back(
          {piece_of(catalog, table, slice.dim), table, static_cast<std::uint32_t>(device)});
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
