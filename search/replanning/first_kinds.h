#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "search/replanning/kind_changes.h"
#include "search/replanning/kind_search.h"

namespace neuroshard {

/// Kinds that the search begins with, one after the other until there is a plan: all tables as they
/// run, and where rules let one be neither so nor in columns, row-wise or replicated; then without
/// row blocks on nodes; then without replicas, too. At least the first.
[[nodiscard]] std::vector<WantedKinds> first_kinds(const KindOrder& order,
                                                   const RunningKinds& kinds);

/// What the plans of `kinds` that leave most where it is have to move, by whichever moves least.
/// Nothing if none of them has a plan.
[[nodiscard]] std::optional<std::int64_t> least_moves(const Backend& backend,
                                                      const KindOrder& order,
                                                      std::span<const WantedKinds> kinds);

}  // namespace neuroshard
