#include "search/parts/cut_choices.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "neuroshard/simulator.h"
#include "search/parts/device_loads.h"

namespace neuroshard {
namespace {

// Numbers of tables that are tried of each kind.
constexpr std::size_t kTrials = 1;

// Parts of tables take at most so much of what a device has to do on average, the likeliest first.
constexpr std::array kPartsShares = {0.5, 0.25, 1.0, 0.1};
constexpr std::size_t kSharesBesideAPlan = 1;

}  // namespace

std::optional<CutChoice> CutChoices::next(const CutChoice& best, const PlanResult* planned) {
  std::optional<CutChoice> choice = next_of_kinds(best, planned);
  if (!choice && listed_ && known_ && *known_ != best) {
    choice = std::exchange(known_, std::nullopt);
    kind_ = Kind::kKnown;
  }
  if (choice) last_ = *choice;
  return choice;
}

void CutChoices::begin_again() {
  kind_ = Kind::kColumnParts;
  all_replicas_tried_ = false;
  all_node_blocks_tried_ = false;
}

// Parts come first: tables that halving does not cut finely enough would be replicated or cut by
// rows for want of them.
std::optional<CutChoice> CutChoices::next_of_kinds(const CutChoice& best,
                                                   const PlanResult* planned) {
  std::optional<CutChoice> choice;
  if (kind_ == Kind::kColumnParts) {
    choice = next_parts(best, planned != nullptr);
    if (choice) return choice;
    if (planned != nullptr && !std::exchange(listed_, true)) list_candidates(*planned);
    kind_ = Kind::kReplicas;
  }
  if (kind_ == Kind::kReplicas) {
    choice = next_replicas(best);
    if (choice) return choice;
    kind_ = Kind::kRowWise;
  }
  if (kind_ == Kind::kRowWise) {
    choice = next_row_wise(best);
    if (choice) return choice;
    kind_ = Kind::kNodeBlocks;
  }
  if (kind_ == Kind::kNodeBlocks) choice = next_node_blocks(best);
  return choice;
}

void CutChoices::last_is_best() {
  switch (kind_) {
    case Kind::kColumnParts:
    case Kind::kKnown:
      return;
    case Kind::kReplicas:
      return replicas_.last_is_best();
    case Kind::kRowWise:
      return row_wise_.last_is_best();
    case Kind::kNodeBlocks:
      return node_blocks_.last_is_best();
  }
}

std::optional<CutChoice> CutChoices::next_parts(const CutChoice& best, bool planned) {
  const std::size_t most = planned ? kSharesBesideAPlan : kPartsShares.size();
  if (shares_tried_ >= most || !best.widths.empty()) return std::nullopt;
  CutChoice choice = best;
  choice.parts_share = kPartsShares[shares_tried_++];
  return choice;
}

std::optional<CutChoice> CutChoices::next_replicas(const CutChoice& best) {
  CutChoice choice = best;
  // The last replica may gain what none before it does: without slices there is no all-to-all.
  if (!std::exchange(all_replicas_tried_, true) && replicas_.size() > 0 &&
      replicas_.size() + required_.size() == task_.tables.size()) {
    choice.replicas = replicas_of(replicas_.try_all());
    if (choice.replicas.size() == replicas_.size()) return choice;
  }
  while (const auto count = replicas_.next()) {
    choice.replicas = replicas_of(*count);
    replicas_limited_ |= choice.replicas.size() < *count;
    if (choice != last_ && choice != best) return choice;
  }
  return std::nullopt;
}

std::optional<CutChoice> CutChoices::next_row_wise(const CutChoice& best) {
  CutChoice choice = best;
  if (std::exchange(row_wise_alone_, false)) {
    choice.replicas.clear();
    choice.row_wise = row_wise_.tables(row_wise_count_, room_beside({}));
    return choice;
  }
  while (const auto count = row_wise_.next()) {
    choice.row_wise = row_wise_.tables(*count, room_beside(choice.replicas), choice.replicas);
    if (choice == last_ || choice == best) continue;
    // The replicas may have taken what blocks had better use of.
    row_wise_alone_ = replicas_limited_ && !choice.replicas.empty();
    row_wise_count_ = *count;
    return choice;
  }
  return std::nullopt;
}

std::optional<CutChoice> CutChoices::next_node_blocks(const CutChoice& best) {
  CutChoice choice = best;
  const auto with = [&](std::size_t count) {
    choice.node_blocks = node_blocks_.tables(count);
    std::ranges::sort(choice.node_blocks);
    return choice != last_ && choice != best;
  };
  if (!std::exchange(all_node_blocks_tried_, true) && node_blocks_.size() > 0 &&
      with(node_blocks_.try_all())) {
    return choice;
  }
  while (const auto count = node_blocks_.next()) {
    if (with(*count)) return choice;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> CutChoices::replicas_of(std::size_t count) const {
  std::vector<std::uint32_t> tables = replicas_.tables(count, room_beside({}));
  std::ranges::sort(tables);
  return tables;
}

CutRoom CutChoices::room_beside(const std::vector<std::uint32_t>& replicas) const {
  Plan plan;
  std::int64_t columns_bytes = total_bytes(task_);
  for (const auto* tables : {&required_, &replicas}) {
    for (const std::uint32_t table : *tables) {
      plan.replicas.push_back(static_cast<int>(table));
      columns_bytes -= task_.tables[table].size_bytes();
    }
  }
  std::ranges::sort(plan.replicas);
  const std::int64_t of_replicas = replicas_memory(task_, plan).total_bytes();
  CutRoom room{.of_device = std::numeric_limits<std::int64_t>::max(),
               .of_all = -static_cast<double>(columns_bytes)};
  for (const std::int64_t of_device : rooms_bytes(task_)) {
    room.of_device = std::min(room.of_device, of_device - of_replicas);
    room.of_all += static_cast<double>(of_device - of_replicas);
  }
  return room;
}

void CutChoices::list_candidates(const PlanResult& planned) {
  CutCandidates candidates = cut_candidates(backend_, task_, *planned.plan, planned.cost, stop_);
  if (stop_.reached()) return;
  const auto trials_of = [&](std::vector<CutCandidate> of_kind) {
    std::erase_if(of_kind, [&](const CutCandidate& one) {
      return std::ranges::binary_search(required_, one.table);
    });
    return CountTrials(std::move(of_kind), kTrials);
  };
  replicas_ = trials_of(std::move(candidates.replicas));
  row_wise_ = trials_of(std::move(candidates.row_wise));
  node_blocks_ = trials_of(std::move(candidates.node_blocks));
}

}  // namespace neuroshard
