#pragma once

#include <cstdint>
#include <vector>

#include "bench/inputs/job_changes.h"
#include "neuroshard/planner.h"
#include "neuroshard/replan.h"

namespace neuroshard::bench {

/// All changes to a job since its first plan, as if they had happened at once. It is the job that
/// one who knew all changes beforehand would plan for.
class ChangesAsOne {
 public:
  ChangesAsOne(const Task& task, const Plan& plan);

  /// The next change, and what was planned for it.
  void add(const Changed& changed, const ReplanRequest& request, const ReplanResult& replanned);

  /// Costs of two plans for the job as it is now.
  struct Costs {
    /// Near to the first plan, with the bytes that all budgets together allowed.
    double near_ms;
    /// Made anew, moving what it likes, but without replicas of tables for which alone these bytes
    /// are too few.
    double within_ms;
  };
  /// Both infinite if these bytes are too few for any plan near to the first one.
  [[nodiscard]] Costs costs(const Planner& planner) const;

 private:
  RunningPlan first_;
  std::vector<int> first_devices_;  ///< Device of the first plan, for each one now; -1: none.
  Task task_;
  std::int64_t moved_bytes_ = 0;
  std::int64_t unspent_bytes_ = 0;
};

}  // namespace neuroshard::bench
