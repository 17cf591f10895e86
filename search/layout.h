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
/// embeddings are summed. Which columns of its table a slice has is left open: all choices cost the
/// same.
using Layout = std::vector<PlacedSlice>;

/// Slices by device, then by piece, then by table: what a layout's cost depends on comes first.
void sort_layout(Layout& layout);

/// A plan for the task of `catalog` as a layout; `plan` is valid, and has halvings only.
[[nodiscard]] Layout layout_of(const PieceCatalog& catalog, const Plan& plan);

/// Cuts and joins slices where they are, so that all of a table have one width: the widest with
/// which devices hold the same columns as before. Sorts the layout.
void equalize_widths(const PieceCatalog& catalog, Layout& layout);

/// Whether a table has more slices than its rules allow, which equalize_widths(), and splits of
/// what a running plan has, can bring about.
[[nodiscard]] bool exceeds_most_slices(const PieceCatalog& catalog, const Layout& layout);

/// The plan of a layout. Table `t` of the layout is table `original[t]` of `task`. Slices of a
/// table get its columns from left to right, the widest first, so that each is a node of the tree
/// of halvings; or begin at `first_columns`, one for each slice, which make them nodes as well.
[[nodiscard]] Plan plan_of(const PieceCatalog& catalog, const Task& task,
                           std::span<const std::uint32_t> original, const Layout& layout,
                           std::span<const int> first_columns = {});

/// Predicted cost, as simulate() of the layout's plan has it to the last bit.
[[nodiscard]] PlanCost cost_of(const Backend& backend, const PieceCatalog& catalog,
                               const Task& task, const Layout& layout);

}  // namespace neuroshard
