#include "search/improvement/move_costs.h"

#include <algorithm>
#include <array>

namespace neuroshard {
namespace {

int columns_on(const WorkingPlan& plan, std::uint32_t table, std::uint32_t device) {
  int columns = 0;
  for (const std::uint32_t index : plan.of_table(table)) {
    const PlacedSlice& slice = plan.slice(index);
    if (slice.device == device) columns += plan.catalog().dim(slice.piece);
  }
  return columns;
}

}  // namespace

std::int64_t MoveCosts::moved_bytes(const WorkingPlan& plan) const {
  std::int64_t bytes = residency_.total_bytes();
  for (std::uint32_t table = 0; table < residency_.tables(); ++table) {
    for (const std::uint32_t device : residency_.holders(table)) {
      const int kept = std::min(columns_on(plan, table, device), residency_.columns(table, device));
      bytes -= kept * residency_.bytes_per_column(table);
    }
  }
  return bytes;
}

std::int64_t MoveCosts::change_bytes(const WorkingPlan& plan, const PlanEdit& edit) const {
  std::array<std::uint32_t, PlanEdit::kMostRemoved + PlanEdit::kMostAdded> tables;
  auto end = tables.begin();
  const auto note = [&](std::uint32_t table) {
    if (std::find(tables.begin(), end, table) == end) *end++ = table;
  };
  for (const std::uint32_t index : edit.removed()) note(plan.slice(index).table);
  for (const PlacedSlice& slice : edit.added()) note(slice.table);

  std::int64_t bytes = 0;
  for (auto table = tables.begin(); table != end; ++table) {
    if (residency_.of_table(*table).empty() && residency_.replicas(*table) == 0) continue;
    for (std::size_t side = 0; side < (edit.one_device() ? 1U : 2U); ++side) {
      const std::uint32_t device = edit.device(side);
      const int resident = residency_.columns(*table, device);
      if (resident == 0) continue;
      const PieceCatalog& catalog = plan.catalog();
      const int before = columns_on(plan, *table, device);
      int after = before;
      for (const std::uint32_t index : edit.removed()) {
        const PlacedSlice& slice = plan.slice(index);
        if (slice.table == *table && slice.device == device) after -= catalog.dim(slice.piece);
      }
      for (const PlacedSlice& slice : edit.added()) {
        if (slice.table == *table && slice.device == device) after += catalog.dim(slice.piece);
      }
      bytes += (std::min(before, resident) - std::min(after, resident)) *
               residency_.bytes_per_column(*table);
    }
  }
  return bytes;
}

}  // namespace neuroshard
