#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace neuroshard {

/// A device of a task whose devices are not all alike.
struct Device {
  std::int64_t memory_bytes = 0;  ///< Includes the reserved part and `base_bytes`.
  /// The base load is there already, such as the dense part of the model or another job.
  double base_ms = 0.0;         ///< Compute in each iteration; 0 to kMostBaseMs.
  std::int64_t base_bytes = 0;  ///< 0 to `memory_bytes`.
  /// The computation of tables takes 1 / `speed` of what the cost models predict; kLeastSpeed to
  /// kMostSpeed.
  double speed = 1.0;
  /// These are in the place of what HostMemory says of all devices; 0: as that says. Where host
  /// memory is of nodes, all devices of a node say the same of `host_bytes`.
  std::int64_t host_bytes = 0;
  double host_link_gb_s = 0.0;
  std::int64_t ssd_bytes = 0;
  double ssd_gb_s = 0.0;

  friend bool operator==(const Device&, const Device&) = default;
};

inline constexpr double kMostBaseMs = 1e6;
inline constexpr double kLeastSpeed = 0.01;
inline constexpr double kMostSpeed = 100.0;

/// Turns the compute cost that the models predict for tables into that of each device.
struct ComputeOnDevices {
  /// Both are [devices], or empty: then it is what the models predict.
  std::vector<float> base_ms{};
  std::vector<float> speed{};

  template <std::floating_point Ms>
  [[nodiscard]] Ms compute_ms(std::size_t device, Ms tables_ms) const {
    return speed.empty() ? tables_ms : tables_ms / speed[device] + base_ms[device];
  }
};

}  // namespace neuroshard
#pragma GCC visibility pop
