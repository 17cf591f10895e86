#pragma once

#include <algorithm>

#include "neuroshard/overlap.h"
#include "neuroshard/plan.h"

namespace neuroshard {

/// An iteration of a device, or of the slowest one, in milliseconds.
struct IterationPhases {
  double own_ms = 0.0;  ///< Compute, replicas, and its all-to-alls of outputs and of gradients.
  double ids_ms = 0.0;
  double all_reduce_ms = 0.0;
  /// The all-to-alls take so long themselves: those of the device that waits for nobody, the least
  /// of all.
  double outputs_ms = 0.0;
  double gradients_ms = 0.0;
};

struct Iteration {
  double dense_ms = 0.0;   ///< No all-to-all hides so much of the dense part.
  double hidden_ms = 0.0;  ///< So much of the ids is hidden.
  double ms = 0.0;         ///< All that is not hidden.
};

/// Ids are hidden as far as all else that a device does is as long.
[[nodiscard]] inline double hidden_ids_ms(const Overlap& overlap, double rest_ms, double ids_ms) {
  return overlap.ids ? std::min(rest_ms, ids_ms) : 0.0;
}

/// The iteration without Overlap::host_ms. docs/analytic_costs.md has the chain of phases.
[[nodiscard]] Iteration iteration_of(const Overlap& overlap, const IterationPhases& phases);

/// The cost of a plan whose slowest device takes so long. Without a host it may be predicted below
/// 0.
[[nodiscard]] inline double with_host_ms(const Overlap& overlap, double slowest_ms) {
  return overlap.host_ms > 0.0 ? std::max(slowest_ms, overlap.host_ms) : slowest_ms;
}

/// Fills in DeviceCost::dense_ms, hidden_ms and hidden_fetch_ms of all devices, PlanCost::cost_ms
/// and host_ms, from what else devices do.
void set_iterations(const Overlap& overlap, PlanCost& cost);

}  // namespace neuroshard
