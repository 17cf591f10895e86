#pragma once

#include <map>
#include <string>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Cost of a collective operation by its bytes, a line for each number of devices that it was made
/// for.
struct CollectiveModel {
  struct Line {
    double latency_ms = 0.0;
    double ms_per_gib = 0.0;  ///< Per GiB of the busiest device.
  };
  std::map<int, Line> lines;  ///< Keys: numbers of devices.

  /// Milliseconds for `bytes` of the busiest device on `devices` devices; nothing for none. Between
  /// two numbers of devices that have lines, latency and rate are interpolated; beyond all of them
  /// they are those of the nearest. Throws Error if there is no line, or `bytes` is negative or not
  /// finite.
  [[nodiscard]] double cost_ms(int devices, double bytes) const;
};

/// Throws Error, which calls the model `name`, unless there is a line, each for 1 to
/// kMostDevicesOfModels devices and of finite numbers that are not negative.
void validate(const CollectiveModel& model, const std::string& name);

}  // namespace neuroshard
#pragma GCC visibility pop
