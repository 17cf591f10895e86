#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace neuroshard::training {

/// One step of one actor.
struct ActorStep {
  double ratio = 1.0;     ///< Probability of the action now over that when it was taken.
  double reward = 0.0;    ///< After the action.
  double discount = 1.0;  ///< 0 where the action ended the episode.
  double value = 0.0;     ///< The return that is expected before the action.
};

struct VTrace {
  std::vector<double> targets;     ///< [steps]: of the values.
  std::vector<double> advantages;  ///< [steps]: of the actions.
};

/// V-trace (Espeholt et al., ICML 2018) with ratios clipped at 1. `value_after`: what is expected
/// after the last step.
[[nodiscard]] VTrace v_trace(std::span<const ActorStep> steps, double value_after);

}  // namespace neuroshard::training
