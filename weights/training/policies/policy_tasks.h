#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/base/random.h"
#include "core/policies/policy_run.h"
#include "neuroshard/backend.h"
#include "neuroshard/hardware.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard::training {

/// Tasks for training and comparison: 20 to 80 of `tables` without replacement, or all if there are
/// fewer, with dims of 4, 8, ... up to 4 to 128, which differs by task, on one of `device_counts`
/// devices with room for everything.
[[nodiscard]] std::vector<Task> draw_policy_tasks(std::span<const Table> tables,
                                                  std::span<const int> device_counts, int tasks,
                                                  Random& random);

/// Devices of the tables of a task, by table.
using Placement = std::vector<std::uint32_t>;

/// The tables of each device.
[[nodiscard]] std::vector<std::vector<Table>> tables_by_device(const Task& task,
                                                               const Placement& placement);

/// Costs of placements of whole tables.
class PolicyPrices {
 public:
  /// Analytic costs.
  explicit PolicyPrices(const Hardware& hardware) : source_(hardware) {}
  /// Costs that models predict. They know compute as one number: either direction counts half.
  /// Throws Error if they know neither 2, 4 nor 8 devices.
  explicit PolicyPrices(const CostModels& models);

  /// A policy is trained for these numbers of devices: 2, 4 and 8, as far as models know them.
  [[nodiscard]] const std::vector<int>& device_counts() const { return device_counts_; }

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
  std::variant<Hardware, std::shared_ptr<const Backend>> source_;
  std::vector<int> device_counts_ = {2, 4, 8};
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
