#pragma once

#include <algorithm>
#include <cstdint>

#include "neuroshard/stop_condition.h"

namespace neuroshard {

/// How long one piece of work may go on: so many steps, and no longer than until a stop condition
/// is reached, which is looked at now and then. A step takes some nanoseconds. Work that is cut
/// short by the number of steps is so on every machine.
class StepBudget {
 public:
  static constexpr std::uint64_t kStepsBetweenLooks = std::uint64_t{1} << 14;
  static constexpr std::uint64_t kAnySteps = std::uint64_t{1} << 62;

  /// Borrows `stop`.
  StepBudget(std::uint64_t most_steps, const StopCondition& stop)
      : most_steps_(most_steps), stop_(stop) {}

  /// To be called before so many steps are done: false if they are not to be.
  [[nodiscard]] bool take(std::uint64_t steps = 1) {
    if (spent_) return false;
    taken_ += steps;
    if (taken_ >= next_look_) look();
    return !spent_;
  }
  [[nodiscard]] bool spent() const { return spent_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  void look() {
    spent_ = taken_ > most_steps_ || stop_.reached();
    next_look_ = std::min(taken_ + kStepsBetweenLooks, std::max(taken_, most_steps_) + 1);
  }

  std::uint64_t most_steps_;
  const StopCondition& stop_;
  std::uint64_t taken_ = 0;
  std::uint64_t next_look_ = 0;
  bool spent_ = false;
};

}  // namespace neuroshard
