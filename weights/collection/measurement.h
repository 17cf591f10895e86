#pragma once

#include <functional>

namespace neuroshard {

/// How often something is run before and while it is timed; the published program's figures.
struct MeasurementProtocol {
  int warm_up = 5;
  int iterations = 10;
};

/// Throws Error unless there is at least one timed run.
void require_runs(const MeasurementProtocol& protocol);

/// Runs `prepare` (caches flushed; not timed by the caller's clock) and `timed_ms`, which returns
/// the milliseconds that it took, warm_up + iterations times; the median of the last `iterations`,
/// the mean of the two in the middle if they are even.
[[nodiscard]] double median_ms(const MeasurementProtocol& protocol,
                               const std::function<void()>& prepare,
                               const std::function<double()>& timed_ms);

}  // namespace neuroshard
