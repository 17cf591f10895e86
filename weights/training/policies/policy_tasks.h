#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/policies/policy_run.h"
#include "neuroshard/hardware.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard::training {

/// 20 to 80 of `tables` without replacement, or all if there are fewer, with dims of 4, 8, ... up
/// to 4 to 128, which differs by task, on 2, 4 or 8 devices with room for everything.
[[nodiscard]] std::vector<Task> draw_policy_tasks(std::span<const Table> tables, int tasks,
                                                  Random& random);

/// Devices of the tables of a task, by table.
using Placement = std::vector<std::uint32_t>;

/// The tables of each device.
[[nodiscard]] std::vector<std::vector<Table>> tables_by_device(const Task& task,
                                                               const Placement& placement);

/// Analytic costs of placements of whole tables.
class PolicyPrices {
 public:
  explicit PolicyPrices(const Hardware& hardware) : hardware_(hardware) {}

  struct Device {
    double forward_ms = 0.0;        ///< The operator's.
    double communication_ms = 0.0;  ///< All-to-all of the backward pass.
    double backward_ms = 0.0;       ///< The operator's.
  };
  struct Price {
    std::vector<Device> devices;
    double cost_ms = 0.0;
  };
  [[nodiscard]] Price price(const Task& task, const Placement& placement) const;
  /// Time of the operator alone, [devices]; 0 without tables.
  [[nodiscard]] std::vector<double> compute_ms(const Task& task, const Placement& placement) const;

 private:
  Hardware hardware_;
};

/// Which device a policy takes: drawn from the softmax of logits, or the largest one.
[[nodiscard]] std::uint32_t drawn_device(std::span<const float> logits, Random& random);
[[nodiscard]] std::uint32_t best_device(std::span<const float> logits);

/// Places all tables; `choose(logits)` takes the device.
template <typename Choose>
Placement place_all(PolicyRun& run, const Choose& choose) {
  Placement placement(run.order().size());
  for (const std::size_t table : run.order()) {
    placement[table] = choose(run.logits());
    run.place(placement[table]);
  }
  return placement;
}

}  // namespace neuroshard::training
