#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plans/shards_cost.h"
#include "search/piece_catalog.h"

namespace neuroshard {

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

/// Predicted cost, as simulate() of the layout's plan has it to the last bit.
[[nodiscard]] PlanCost cost_of(const Backend& backend, const PieceCatalog& catalog,
                               const Task& task, const Layout& layout);

}  // namespace neuroshard
