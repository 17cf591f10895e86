#pragma once

#include <map>
#include <string>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Cost of keeping tables alike that every device holds: the all-reduce of their dense gradients,
/// and the optimizer's pass over all their weights. There is a line for each number of devices that
/// it was made for.
struct AllReduceModel {
  struct Line {
    double latency_ms = 0.0;
    double ms_per_gib = 0.0;  ///< Per GiB that a device contributes and gets back.
  };
  std::map<int, Line> lines;  ///< Keys: numbers of devices.

  /// Milliseconds for `bytes` of gradients on `devices` devices; nothing for none. Between two
  /// numbers of devices that have lines, latency and rate are interpolated; beyond all of them they
  /// are those of the nearest. Throws Error if there is no line, or `bytes` is negative or not
  /// finite.
  [[nodiscard]] double all_reduce_ms(int devices, double bytes) const;
};

/// Throws Error unless there is a line, each for 1 to kMostDevicesOfModels devices and of finite
/// numbers that are not negative.
void validate(const AllReduceModel& model, const std::string& where = "");

}  // namespace neuroshard
#pragma GCC visibility pop
