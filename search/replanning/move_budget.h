#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "neuroshard/error.h"
#include "neuroshard/replan.h"
#include "search/replanning/replanning.h"

namespace neuroshard {

/// What may be moved for a plan of any kinds, and what moves cost.
class MoveBudget {
 public:
  explicit MoveBudget(const ReplanRequest& request);

  /// What may be moved; nothing: the request does not say, and no plan has said it yet.
  [[nodiscard]] const std::optional<std::int64_t>& bytes() const { return bytes_; }
  void set_bytes(std::int64_t bytes) { bytes_ = bytes; }
  [[nodiscard]] bool is_any() const { return bytes_ == kAnyBytes; }

  /// What has to be moved for the kinds that the search begins with, by the slices that run.
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
  /// From now on moves have a price, by a plan of this cost, so that something is left.
  void price_moves(double cost_ms);
  void make_moves_free() { ms_per_gib_ = 0.0; }

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
