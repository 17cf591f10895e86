#pragma once

#include <cstdint>

#include "search/improvement/working_plan.h"
#include "search/residency.h"

namespace neuroshard {

/// What moving columns to where a plan wants them costs, while the plan is being changed. Of a
/// table, a device is taken to keep as many columns as it holds and is to hold: which ones they are
/// is decided last (columns_to_keep), so that now and then a little more has to be moved.
class MoveCosts {
 public:
  /// Borrows `residency`.
  MoveCosts(const Residency& residency, std::int64_t most_moved_bytes, double ms_per_byte)
      : residency_(residency), most_moved_bytes_(most_moved_bytes), ms_per_byte_(ms_per_byte) {}

  [[nodiscard]] std::int64_t moved_bytes(const WorkingPlan& plan) const;
  /// How many more `edit` makes of them.
  [[nodiscard]] std::int64_t change_bytes(const WorkingPlan& plan, const PlanEdit& edit) const;

  [[nodiscard]] std::int64_t most_moved_bytes() const { return most_moved_bytes_; }
  [[nodiscard]] double charge_ms(std::int64_t moved_bytes) const {
    return ms_per_byte_ * static_cast<double>(moved_bytes);
  }

 private:
  const Residency& residency_;
  std::int64_t most_moved_bytes_;
  double ms_per_byte_;
};

}  // namespace neuroshard
