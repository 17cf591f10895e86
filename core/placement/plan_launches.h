#pragma once

namespace neuroshard {

/// Launches of a GPU for a search of a single plan: so many at most. Not thread-safe.
class PlanLaunches {
 public:
  explicit PlanLaunches(int most) : left_(most) {}

  [[nodiscard]] bool any() const { return left_ > 0; }
  /// Takes so many more; none, and false, if there are fewer left.
  [[nodiscard]] bool take(int count) {
    if (count > left_) return false;
    left_ -= count;
    return true;
  }

 private:
  int left_;
};

}  // namespace neuroshard
