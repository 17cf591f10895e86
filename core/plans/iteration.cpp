#include "core/plans/iteration.h"

namespace neuroshard {

static double exposed_ms(double beside_ms, double exchange_ms) {
  return std::max(0.0, beside_ms - std::max(0.0, exchange_ms));
}

Iteration iteration_of(const Overlap& overlap, const IterationPhases& phases) {
  Iteration iteration;
  iteration.dense_ms = overlap.dense_ms +
                       exposed_ms(overlap.dense_beside_outputs_ms, phases.outputs_ms) +
                       exposed_ms(overlap.dense_beside_gradients_ms, phases.gradients_ms);
  iteration.hidden_ms = hidden_ids_ms(
      overlap, phases.own_ms + phases.all_reduce_ms + iteration.dense_ms, phases.ids_ms);
  // In the order of DeviceCost::total_ms().
  iteration.ms = phases.own_ms + phases.ids_ms + phases.all_reduce_ms + iteration.dense_ms -
                 iteration.hidden_ms;
  return iteration;
}

void set_iterations(const Overlap& overlap, PlanCost& cost) {
  const double outputs_ms =
      std::ranges::min_element(cost.devices, {}, &DeviceCost::forward_ms)->forward_ms;
  const double gradients_ms =
      std::ranges::min_element(cost.devices, {}, &DeviceCost::backward_ms)->backward_ms;
  for (DeviceCost& device : cost.devices) {
    const double prefetched_ms = cost.prefetched_ms(device);
    const double own_ms =
        device.compute_ms - prefetched_ms + device.backward_ms + device.forward_ms;
    const Iteration iteration = iteration_of(overlap, {.own_ms = own_ms,
                                                       .ids_ms = device.ids_ms,
                                                       .all_reduce_ms = device.all_reduce_ms,
                                                       .outputs_ms = outputs_ms,
                                                       .gradients_ms = gradients_ms});
    device.dense_ms = iteration.dense_ms;
    device.hidden_ms = iteration.hidden_ms;
    // Times that are predicted below 0 stay as they are.
    device.hidden_fetch_ms = cost.prefetched ? std::min(prefetched_ms, iteration.ms) : 0.0;
  }
  cost.host_ms = overlap.host_ms;
  cost.cost_ms = with_host_ms(overlap, cost.slowest_ms());
}

}  // namespace neuroshard
