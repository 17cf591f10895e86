#include "neuroshard/waiting.h"

#include <algorithm>
#include <numeric>

namespace neuroshard {

std::vector<double> start_offsets_ms(const PlanCost& cost) {
  std::vector<double> offsets;
  offsets.reserve(cost.devices.size());
  for (const DeviceCost& device : cost.devices) {
    offsets.push_back(device.compute_ms - device.replicas_ms - cost.prefetched_ms(device) +
                      device.backward_ms);
  }
  if (offsets.empty()) return offsets;
  const double first = *std::ranges::min_element(offsets);
  for (double& ms : offsets) ms -= first;
  return offsets;
}

std::vector<double> waits_ms(const PlanCost& cost) {
  std::vector<double> waits = start_offsets_ms(cost);
  if (waits.empty()) return waits;
  const double last = *std::ranges::max_element(waits);
  for (std::size_t device = 0; device < waits.size(); ++device) {
    const double forward_ms = std::max(0.0, cost.devices[device].forward_ms);
    waits[device] = std::clamp(last - waits[device], 0.0, forward_ms);
  }
  return waits;
}

std::vector<double> work_ms(const PlanCost& cost) {
  std::vector<double> work = waits_ms(cost);
  for (std::size_t device = 0; device < work.size(); ++device) {
    work[device] = cost.devices[device].total_ms() - work[device];
  }
  return work;
}

int deciding_device(const PlanCost& cost) {
  const std::vector<double> work = work_ms(cost);
  return static_cast<int>(std::ranges::max_element(work) - work.begin());
}

double imbalance(const PlanCost& cost) {
  const std::vector<double> work = work_ms(cost);
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  if (sum <= 0.0) return 1.0;
  return *std::ranges::max_element(work) * static_cast<double>(work.size()) / sum;
}

}  // namespace neuroshard
