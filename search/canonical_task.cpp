#include "search/canonical_task.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/count_up.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_kind.h"
#include "neuroshard/column_halvings.h"

namespace neuroshard {
namespace {

// Tables of groups that are looked at in all rounds: some ten milliseconds.
constexpr std::size_t kMostMembers = std::size_t{1} << 18;
constexpr std::size_t kFewestRounds = 2;

}  // namespace

std::vector<std::uint32_t> canonical_order(const Task& listed,
                                           std::span<const std::uint64_t> ranks) {
  std::vector<std::uint32_t> order = count_up<std::uint32_t>(listed.tables.size());
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto kind_a = kind_of(listed.tables[a]);
    const auto kind_b = kind_of(listed.tables[b]);
    if (ranks.empty() || kind_a != kind_b) return kind_a < kind_b;
    return ranks[a] < ranks[b];
  });
  if (listed.groups.empty()) return order;
  // Equal tables are told apart by their groups.
  std::vector<std::uint64_t> kinds(order.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool same = kind_of(listed.tables[order[i - 1]]) == kind_of(listed.tables[order[i]]) &&
                      (ranks.empty() || ranks[order[i - 1]] == ranks[order[i]]);
    kinds[order[i]] = same ? kinds[order[i - 1]] : i;
  }
  std::size_t members = 1;
  for (const TableGroup& group : listed.groups) members += group.tables.size();
  const std::vector<std::uint64_t> in_groups = with_groups(
      listed, kinds,
      static_cast<int>(std::clamp<std::size_t>(kMostMembers / members, kFewestRounds,
                                               static_cast<std::size_t>(kMostGroupRounds))));
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(kinds[a], in_groups[a]) < std::pair(kinds[b], in_groups[b]);
  });
  return order;
}

Plan in_normal_form(const Task& task, Plan plan) {
  std::optional<HalvedPlan> halved = halvings_of(plan);
  return halved ? plan_from_halvings(task, *std::move(halved)) : std::move(plan);
}

}  // namespace neuroshard
