#pragma once

#pragma GCC visibility push(default)
namespace neuroshard {

/// Says what runs beside what in an iteration. By default nothing does: all that a device does is
/// added up. Times are milliseconds, 0 to kMostOverlapMs.
struct Overlap {
  bool ids = false;       ///< The all-to-all of ids runs behind the iteration before.
  double dense_ms = 0.0;  ///< Dense part that runs beside no all-to-all.
  double dense_beside_outputs_ms = 0.0;    ///< Part that may run while outputs are exchanged.
  double dense_beside_gradients_ms = 0.0;  ///< Part that may run while gradients are.
  double host_ms = 0.0;                    ///< No iteration takes less.

  friend bool operator==(const Overlap&, const Overlap&) = default;
};

inline constexpr double kMostOverlapMs = 1e6;

}  // namespace neuroshard
#pragma GCC visibility pop
