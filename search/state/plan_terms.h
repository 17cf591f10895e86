#pragma once

#include <vector>

#include "search/state/plan_state.h"

namespace neuroshard {

/// A cost of a plan beside what models predict for its devices, ms.
class PlanTerm {
 public:
  /// Whether it may be other than 0 for plans of this state.
  [[nodiscard]] virtual bool concerns(const PlanState&) const { return true; }
  [[nodiscard]] virtual double ms(const PlanState& state) const = 0;
  /// By how much an edit of few slices, which leaves replicas alone, changes it.
  [[nodiscard]] virtual double added_ms(const PlanState& state, const Edit& edit) const = 0;

 protected:
  ~PlanTerm() = default;
};

/// All that concern it: ours, and those that came with WayOptions.
[[nodiscard]] std::vector<const PlanTerm*> terms_of(const PlanState& state);

}  // namespace neuroshard
