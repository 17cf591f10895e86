#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "neuroshard/error.h"
#include "neuroshard/replan.h"
#include "search/state/running_holders.h"

namespace neuroshard {

/// Moving all that may be moved beyond what must has to gain this share of the cost, moving half of
/// it half of that. With four times as much ten changes cost the same on average; with nothing,
/// 0.7 % more.
inline constexpr double kLeastGainOfBudget = 0.005;

/// With neither budget nor price: what may be moved beyond what has to be, 1 / 5 of that.
inline constexpr std::int64_t kShareOnTop = 5;

/// Bytes that may be moved for a plan, and what moves cost.
struct MoveBudget {
  explicit MoveBudget(const ReplanRequest& request);

  const ReplanRequest& request;
  /// Plans may move so much; nothing: the request does not say, and no plan has said it yet.
  std::optional<std::int64_t> bytes;
  /// Bytes that have to be moved for tables to be sharded as those of the first plan.
  std::int64_t least_bytes = 0;
  double ms_per_byte = 0.0;

  /// `own` and what earlier budgets left.
  void set(std::int64_t own);
  [[nodiscard]] bool is_any() const { return bytes == kAnyBytes; }
  /// Bytes that may be moved beyond `least_bytes`.
  [[nodiscard]] std::int64_t spare_bytes() const {
    return is_any() ? kAnyBytes : std::max<std::int64_t>(0, *bytes - least_bytes);
  }
  /// Bytes that a plan that moves so much leaves for later changes.
  [[nodiscard]] std::int64_t unspent_bytes(std::int64_t moved_bytes) const;
  /// Says that there is no plan within it, and that so many bytes are enough for one.
  [[nodiscard]] Error too_small(std::int64_t enough_bytes) const;
  /// From now on moves have a price, by a plan of this cost, so that something is left: to move all
  /// that may be moved beyond what must has to gain a share of it.
  void price_moves(double cost_ms, double share = kLeastGainOfBudget);
};

/// Bytes that small moves of `request` may be, in all, for a new task of so many devices.
[[nodiscard]] std::int64_t small_moves_bytes(const ReplanRequest& request,
                                             const RunningPlan& running,
                                             const PlanCost& running_cost, int devices);

}  // namespace neuroshard
