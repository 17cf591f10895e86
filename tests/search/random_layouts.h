#pragma once

#include <cstdint>
#include <random>

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

/// Every table halved `halvings` times on average, any of its slices, and the slices put on random
/// devices, in random order. Memory is not looked at.
[[nodiscard]] Layout random_layout(const CatalogedTask& cataloged, double halvings,
                                   std::mt19937_64& random);

/// Columns of `table` in all its slices.
[[nodiscard]] std::int64_t columns_of(const PieceCatalog& catalog, const Layout& layout,
                                      std::uint32_t table);
/// Memory of the device that needs most.
[[nodiscard]] std::int64_t most_memory_bytes(const PieceCatalog& catalog, const Task& task,
                                             const Layout& layout);

}  // namespace neuroshard::testing
