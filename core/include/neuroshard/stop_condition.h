#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

namespace neuroshard {

/// Ends a computation early: at a point in time, when somebody asks for it, when a function says so
/// that is called at each look, or never. Looking costs some 30 ns.
class StopCondition {
 public:
  using Clock = std::chrono::steady_clock;

  StopCondition() = default;  ///< Never.
  StopCondition(std::optional<Clock::time_point> deadline, std::stop_token token)
      : deadline_(deadline), token_(std::move(token)) {}
  explicit StopCondition(std::function<bool()> says_stop) : says_stop_(std::move(says_stop)) {}

  /// False if it can never be reached.
  [[nodiscard]] bool possible() const {
    return deadline_.has_value() || token_.stop_possible() || says_stop_ != nullptr;
  }
  [[nodiscard]] bool reached() const {
    return token_.stop_requested() || (deadline_ && Clock::now() + margin_ >= *deadline_) ||
           (says_stop_ && says_stop_());
  }
  /// From now on the deadline counts as reached by `margin` earlier, which is the time that the
  /// remaining work takes.
  void keep(Clock::duration margin) { margin_ = margin; }

 private:
  std::optional<Clock::time_point> deadline_;
  Clock::duration margin_{0};
  std::stop_token token_;
  std::function<bool()> says_stop_;
};

}  // namespace neuroshard
