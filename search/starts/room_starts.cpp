#include "search/starts/room_starts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/tables/table_rules.h"
#include "search/canonical_task.h"
#include "search/layout.h"
#include "search/parts/room_search.h"
#include "search/placement_rules.h"
#include "search/starts/ruled_packings.h"
#include "search/starts/tight_packings.h"

namespace neuroshard {
namespace {

RoomStarts packings_by_columns(const Backend& backend, const Task& task, bool equal_widths,
                               const StopCondition& stop) {
  const CanonicalTask canonical(task, stop);
  const PieceCatalog catalog(canonical.task, backend.table_features(), canonical.original,
                             canonical.bundles, stop);
  const Task* const starts_of = canonical.task_of_starts();
  const bool rules = starts_of == nullptr || placement_rules(catalog, *starts_of) ||
                     !canonical.task.groups.empty();
  TightPackings packings;
  if (!rules) packings = pack_tightly(catalog, canonical.task, stop);
  if (packings.layouts.empty() && !packings.impossible &&
      (rules || any_limits_splits(canonical.task))) {
    packings = pack_under_rules(catalog, canonical.task, starts_of, equal_widths, stop);
  }
  RoomStarts starts{.plans = {}, .impossible = packings.impossible};
  std::vector<std::uint32_t> all(canonical.task.tables.size());
  std::iota(all.begin(), all.end(), 0U);
  for (Layout& layout : packings.layouts) {
    if (equal_widths) {
      equalize_widths(catalog, layout);
      if (exceeds_most_slices(catalog, layout)) continue;
    }
    starts.plans.push_back(canonical.plan_of_listed(plan_of(catalog, canonical.task, all, layout)));
  }
  return starts;
}

}  // namespace

RoomStarts starts_for_room(const Backend& backend, const Task& task, bool equal_widths,
                           bool any_ways, const StopCondition& stop) {
  RoomStarts starts;
  const auto in_columns = [&](const Table& table) { return may_be_in_columns(task, table); };
  if (std::ranges::all_of(task.tables, in_columns)) {
    starts = packings_by_columns(backend, task, equal_widths, stop);
  }
  if (starts.plans.empty() && any_ways && task.devices > 1) {
    if (std::optional<Plan> plan = plan_for_room(task, equal_widths, stop)) {
      starts.plans.push_back(*std::move(plan));
    }
  }
  return starts;
}

}  // namespace neuroshard
