#include "search/memory_splits.h"

#include <algorithm>

#include "core/base/count_up.h"
#include "core/base/step_budget.h"

namespace neuroshard {
namespace {

constexpr int kMaxMemorySplits = 4096;

// In bytes, of those that can be split; the first one on ties, or -1.
int largest_splittable(const PieceCatalog& catalog, const SplitState& state) {
  int largest = -1;
  for (std::size_t slice = 0; slice < state.pieces.size(); ++slice) {
    if (!catalog.can_split_all(state.pieces[slice])) continue;
    if (largest < 0 || catalog.size_bytes(state.pieces[slice]) >
                           catalog.size_bytes(state.pieces[static_cast<std::size_t>(largest)])) {
      largest = static_cast<int>(slice);
    }
  }
  return largest;
}

}  // namespace

void split_oversized(const PieceCatalog& catalog, std::int64_t memory_bytes, SplitState& state) {
  // The list grows while it is walked: second halves are looked at in their turn.
  for (std::uint32_t slice = 0; slice < state.pieces.size(); ++slice) {
    while (catalog.size_bytes(state.pieces[slice]) > memory_bytes &&
           catalog.can_split_all(state.pieces[slice])) {
      state.split(catalog, slice);
    }
  }
}

std::vector<SplitState> memory_split_ladder(const PieceCatalog& catalog, SplitState state,
                                            const StopCondition* stop) {
  std::vector<SplitState> ladder;
  int next = 1;
  for (int splits = 1; splits <= kMaxMemorySplits; ++splits) {
    if (stop != nullptr && stop->reached()) break;
    const int slice = largest_splittable(catalog, state);
    if (slice < 0) break;
    state.split(catalog, static_cast<std::uint32_t>(slice));
    if (splits == next) {
      ladder.push_back(state);
      next += std::max(1, (splits & (splits - 1)) == 0 ? splits / 2 : splits / 3);
    }
  }
  // The finest state too, if it fell between two rungs.
  if (!ladder.empty() && ladder.back().column_splits.size() != state.column_splits.size()) {
    ladder.push_back(std::move(state));
  }
  return ladder;
}

std::optional<std::vector<int>> pack_by_size(const PieceCatalog& catalog, const SplitState& state,
                                             int devices, std::int64_t memory_bytes,
                                             const PlacementRules* rules,
                                             const StopCondition& stop) {
  std::vector<std::uint32_t> by_size = count_up<std::uint32_t>(state.pieces.size());
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::uint32_t a, std::uint32_t b) {
    return catalog.size_bytes(state.pieces[a]) > catalog.size_bytes(state.pieces[b]);
  });
  std::vector<std::int64_t> used(static_cast<std::size_t>(devices), 0);
  if (rules != nullptr) used = rules->base_bytes;
  std::vector<int> device_of(state.pieces.size());
  StepBudget budget(StepBudget::kAnySteps, stop);
  for (const std::uint32_t slice : by_size) {
    if (!budget.take(used.size())) return std::nullopt;
    auto emptiest = used.end();
    for (auto device = used.begin(); device != used.end(); ++device) {
      const auto d = static_cast<std::size_t>(device - used.begin());
      if (rules != nullptr && !rules->allow(state.pieces[slice], d)) continue;
      if (emptiest == used.end() || *device < *emptiest) emptiest = device;
    }
    const std::int64_t size = catalog.size_bytes(state.pieces[slice]);
    if (*emptiest > memory_bytes - size) return std::nullopt;
    *emptiest += size;
    device_of[slice] = static_cast<int>(emptiest - used.begin());
  }
  return device_of;
}

}  // namespace neuroshard
