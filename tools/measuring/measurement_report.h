#pragma once

#include <optional>
#include <string>
#include <vector>

#include "neuroshard/training.h"
#include "tools/measuring/measure_inputs.h"

namespace neuroshard::tools {

/// What `measure` has found. Borrows.
struct MeasurementReport {
  const MeasureCommand& command;
  const MeasureInputs& inputs;
  std::string hardware;
  int machines = 1;
  int threads = 1;                            ///< Of rank 0.
  std::vector<ranks::MeasuredPlan> measured;  ///< Of those `inputs.plans` that have a plan.

  /// Of plan `plan` of the inputs; null if there is none.
  [[nodiscard]] const ranks::MeasuredPlan* of(std::size_t plan) const;
  /// The same if it could be run.
  [[nodiscard]] const ranks::MeasuredPlan* run_of(std::size_t plan) const;
};

/// Predicted costs of plans beside measured ones; nothing if fewer than two were measured.
[[nodiscard]] std::optional<Accuracy> accuracy_of(const MeasurementReport& report);

/// One plan: measured and predicted milliseconds of each device. Several: of each plan.
[[nodiscard]] std::string measurement_page(const MeasurementReport& report, const TextStyle& style);

/// Everything, as one JSON document; docs/measuring.md.
[[nodiscard]] std::string measurement_json(const MeasurementReport& report);

/// Bars of measured and predicted milliseconds, an SVG file: of one plan by device and term, of
/// several by plan.
[[nodiscard]] std::string measurement_chart(const MeasurementReport& report);

}  // namespace neuroshard::tools
