#pragma once

#include <vector>

#include "search/state/ways.h"

namespace neuroshard {

struct Edit;
class PlanState;

/// Something that plans have to keep to beside memory, which they may lack while they are searched.
class PlanLimit {
 public:
  /// Whether it says anything of plans of this state.
  [[nodiscard]] virtual bool concerns(const PlanState&) const { return true; }
  /// Whether a plan keeps to it after an edit of few slices, as it did before.
  [[nodiscard]] virtual bool allows(const PlanState& state, const Edit& edit) const = 0;
  /// Whether a slice may be where it is after an edit, of any size, that lacks it.
  [[nodiscard]] virtual bool allows_there(const PlanState&, const Edit&, const StateSlice&) const {
    return true;
  }
  /// Whether the plan keeps to what placing one slice after the other does not see to.
  [[nodiscard]] virtual bool holds(const PlanState&) const { return true; }

 protected:
  ~PlanLimit() = default;
};

/// All that concern it: ours, and those that came with WayOptions.
[[nodiscard]] std::vector<const PlanLimit*> limits_of(const PlanState& state);

/// PlanLimit's questions to all of them. Slices are of ways that their tables may have.
[[nodiscard]] bool keeps_limits(const PlanState& state, const Edit& edit);
[[nodiscard]] bool limits_allow_there(const PlanState& state, const Edit& edit,
                                      const StateSlice& slice);
[[nodiscard]] bool limits_hold(const PlanState& state);

}  // namespace neuroshard
