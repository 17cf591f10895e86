#include "search/found_plans.h"

#include <algorithm>
#include <utility>

namespace neuroshard {
namespace {

std::vector<std::vector<std::uint32_t>> shards_of(const Layout& layout) {
  std::vector<std::vector<std::uint32_t>> shards;
  for (const PlacedSlice& slice : layout) {
    if (slice.device >= shards.size()) shards.resize(slice.device + 1);
    shards[slice.device].push_back(slice.piece);
  }
  for (auto& shard : shards) std::sort(shard.begin(), shard.end());
  std::sort(shards.begin(), shards.end());
  std::erase_if(shards, [](const auto& shard) { return shard.empty(); });
  return shards;
}

}  // namespace

bool same_plan(const Layout& a, const Layout& b) {
  return a.size() == b.size() && shards_of(a) == shards_of(b);
}

bool FoundPlans::add(Layout layout, PlanCost cost) {
  const auto place =
      std::upper_bound(found_.begin(), found_.end(), cost.cost_ms,
                       [](double ms, const Found& found) { return ms < found.cost.cost_ms; });
  if (static_cast<std::size_t>(place - found_.begin()) >= most_) return false;
  const bool best = place == found_.begin();
  Found found{std::move(layout), std::move(cost)};
  if (most_ > 1) {
    for (auto other = found_.begin(); other != found_.end(); ++other) {
      if (!same_plan(other->layout, found.layout)) continue;
      if (other < place) return false;  // Known, and not dearer.
      found_.erase(other);
      break;
    }
  }
  const auto again =
      std::upper_bound(found_.begin(), found_.end(), found.cost.cost_ms,
                       [](double ms, const Found& other) { return ms < other.cost.cost_ms; });
  found_.insert(again, std::move(found));
  if (found_.size() > most_) found_.pop_back();
  return best;
}

}  // namespace neuroshard
