#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/hardware.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "neuroshard/weights.h"

namespace neuroshard::bench {

/// The plan of uniform width on the first `used_devices` devices; the others stay empty. Nothing if
/// it does not fit.
[[nodiscard]] std::optional<Plan> uniform_width_plan(const Task& task, int width, int used_devices);

/// Plans by `uniform_width_plan` that differ: widths 4, 8, ..., 256 on all devices and, where there
/// are several, on half of them.
[[nodiscard]] std::vector<Plan> uniform_width_plans(const Task& task);

/// How far the costs that models predict for whole plans are from analytic ones.
class PlanAccuracy {
 public:
  /// Prices by the datasheets that the built-in weights of `hardware` were trained on.
  explicit PlanAccuracy(std::string_view hardware = kDefaultHardware)
      : machine_(hardware_named(hardware)) {}

  void add(const Backend& backend, const Task& task, const Plan& plan);

  [[nodiscard]] std::size_t plans() const { return ratios_.size(); }
  /// predicted / analytic of each plan, in the order in which they were added.
  [[nodiscard]] const std::vector<double>& ratios() const { return ratios_; }
  /// Mean of |predicted - analytic| / analytic; 0.03 = 3 %. Like the others, of at least one plan.
  [[nodiscard]] double mape() const;
  /// Mean of (predicted - analytic) / analytic.
  [[nodiscard]] double bias() const;
  /// Extremes and median of predicted / analytic.
  [[nodiscard]] double least_ratio() const;
  [[nodiscard]] double median_ratio() const;
  /// At most `percent` % of the plans have a lower one.
  [[nodiscard]] double ratio_at(double percent) const;
  [[nodiscard]] double largest_ratio() const;
  /// Geometric mean of the plans' analytic costs (ms): of the same search with other weights, the
  /// lower one is of those that lead it to better plans.
  [[nodiscard]] double mean_analytic_ms() const;

  /// Mean of predicted - analytic of a term of the device that costs most, in relation to the
  /// analytic cost of the plan.
  struct TermErrors {
    double compute = 0.0;
    double forward = 0.0;
    double backward = 0.0;
    double ids = 0.0;
    double replicas = 0.0;  ///< Their operator and all-reduce.
  };
  [[nodiscard]] TermErrors term_errors() const;

 private:
  Hardware machine_;
  std::vector<double> ratios_;
  std::vector<double> analytic_ms_;
  std::vector<TermErrors> term_errors_;
};

}  // namespace neuroshard::bench
