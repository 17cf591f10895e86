#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace neuroshard {

/// A device of a task whose devices are not all alike.
struct Device {
  std::int64_t memory_bytes = 0;  ///< What is reserved, and `base_bytes`, included.
  /// What is there already, such as the dense part of the model or another job.
  double base_ms = 0.0;         ///< Compute in each iteration; 0 to kMostBaseMs.
  std::int64_t base_bytes = 0;  ///< 0 to `memory_bytes`.

  friend bool operator==(const Device&, const Device&) = default;
};

inline constexpr double kMostBaseMs = 1e6;

}  // namespace neuroshard
#pragma GCC visibility pop
