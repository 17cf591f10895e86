#pragma once

#include <vector>

#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Beyond what doubles lose in the sums of a bound.
inline constexpr double kBoundTolerance = 1e-9;

/// Milliseconds of an all-to-all: at least `base` and a line of the columns of any device,
/// and of the mean of all.
struct ExchangeLine {
  double base = 0.0;
  double column_ms = 0.0;
  double mean_column_ms = 0.0;
};

/// A sum of phases that no iteration is shorter than: `constant_ms`, and lines of what devices do.
struct Phases {
  double constant_ms = 0.0;
  double compute = 1.0;  ///< 0: without compute and all-reduces.
  ExchangeLine columns{};
  ExchangeLine ids{};

  /// Whether all devices wait for more than what the one with most columns sends.
  [[nodiscard]] bool is_mean() const { return most_of_mean() > 1.0 + kBoundTolerance; }
  [[nodiscard]] double most_of_mean() const {
    const double own_ms = columns.column_ms + ids.column_ms;
    return own_ms > 0.0 ? (columns.mean_column_ms + ids.mean_column_ms) / own_ms : 1.0;
  }
};

/// Every iteration takes at least each of these, by analytic prices: an all-to-all, or what runs
/// beside it, is all of their time.
[[nodiscard]] std::vector<Phases> phases_of(const NetworkSpec& network, const Task& task);

}  // namespace neuroshard
