#include "weights/training/policies/vtrace.h"

#include <algorithm>

namespace neuroshard::training {

VTrace v_trace(std::span<const ActorStep> steps, double value_after) {
  VTrace result;
  result.targets.resize(steps.size());
  result.advantages.resize(steps.size());
  double correction = 0.0;  // Target of the next step less its value.
  double next_value = value_after;
  for (std::size_t t = steps.size(); t-- > 0;) {
    const ActorStep& step = steps[t];
    const double ratio = std::min(1.0, step.ratio);
    result.advantages[t] =
        ratio * (step.reward + step.discount * (next_value + correction) - step.value);
    const double surprise = ratio * (step.reward + step.discount * next_value - step.value);
    correction = surprise + step.discount * ratio * correction;
    result.targets[t] = step.value + correction;
    next_value = step.value;
  }
  return result;
}

}  // namespace neuroshard::training
