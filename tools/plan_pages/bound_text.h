#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "neuroshard/hardware.h"
#include "neuroshard/plan.h"

namespace neuroshard::tools {

/// No plan of a task costs less than `bound_ms`, and one costs `cost_ms`, by analytic prices.
struct PlanBound {
  std::string prices;  ///< Whose they are.
  double bound_ms = 0.0;
  std::int64_t short_bytes = 0;     ///< That tables need beyond all memory.
  std::optional<double> cost_ms{};  ///< Cost of a plan that is valid, fits and keeps all rules.

  /// False: none is known to be impossible.
  [[nodiscard]] bool any_plan() const { return bound_ms < std::numeric_limits<double>::infinity(); }
  /// A sentence for people.
  [[nodiscard]] std::string text() const;
};

/// `plan` may be null. Throws Error if it is not valid for `task`.
[[nodiscard]] PlanBound bound_of(const Hardware& machine, const Task& task, const Plan* plan);

/// bound_of() where it takes milliseconds and `plan` is valid; else nothing. For pages that nobody
/// has asked for a bound.
[[nodiscard]] std::optional<PlanBound> quick_bound_of(const Hardware& machine, const Task& task,
                                                      const Plan& plan);

}  // namespace neuroshard::tools
