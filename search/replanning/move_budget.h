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

/// A budget and what earlier ones left.
[[nodiscard]] inline std::int64_t with_unspent(std::int64_t budget, const ReplanRequest& request) {
  return budget + std::min(request.unspent_bytes.value_or(0), kAnyBytes - budget);
}

/// Bytes that may be moved for a plan, and what moves cost.
class MoveBudget {
 public:
  explicit MoveBudget(const ReplanRequest& request);

  /// What may be moved; nothing: the request does not say, and no plan has said it yet.
  [[nodiscard]] const std::optional<std::int64_t>& bytes() const { return bytes_; }
  void set_bytes(std::int64_t bytes) { bytes_ = bytes; }
  [[nodiscard]] bool is_any() const { return bytes_ == kAnyBytes; }

  /// Bytes that have to be moved for tables to be sharded as those of the first plan.
  [[nodiscard]] std::int64_t least_bytes() const { return least_bytes_; }
  void set_least_bytes(std::int64_t bytes) { least_bytes_ = bytes; }
  /// What may be moved beyond that.
  [[nodiscard]] std::int64_t spare_bytes() const {
    return is_any() ? kAnyBytes : std::max<std::int64_t>(0, *bytes_ - least_bytes_);
  }
  /// What a plan that moves so much leaves for later changes.
  [[nodiscard]] std::int64_t unspent_bytes(std::int64_t moved_bytes) const;

  /// Why there is no plan within it, if so many bytes are enough for one.
  [[nodiscard]] Error too_small(std::int64_t enough_bytes) const;

  [[nodiscard]] double ms_per_gib() const { return ms_per_gib_; }
  [[nodiscard]] double price_ms(std::int64_t moved_bytes) const;
  /// From now on moves have a price, by a plan of this cost, so that something is left: to move all
  /// that may be moved beyond what must has to gain a share of it.
  void price_moves(double cost_ms, double share = kLeastGainOfBudget);

 private:
  const ReplanRequest& request_;
  std::optional<std::int64_t> bytes_;
  std::int64_t least_bytes_ = 0;
  double ms_per_gib_;
};

/// What small moves of `request` may be, in all, for a new task of so many devices.
[[nodiscard]] std::int64_t small_moves_bytes(const ReplanRequest& request,
                                             const RunningPlan& running, int devices);

}  // namespace neuroshard
