#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/gpu/event_timer.h"
#include "cuda/device/buffers.h"

namespace neuroshard::bench {

/// Rates at which a GPU moves rows of a table between its memory and the host's, GB/s (1e9 bytes)
/// of the rows of one direction.
struct HostRowRates {
  int row_bytes = 0;
  double fetched = 0.0;  ///< From the host.
  double evicted = 0.0;  ///< To the host.
  double both = 0.0;  ///< A row comes and another one goes, in one kernel: of the rows that come.
};

/// Widths of rows, in bytes, that are measured.
[[nodiscard]] std::span<const int> host_row_bytes();

/// Moves scattered rows by a warp each, as a cache of rows does, on the current device. Medians of
/// so many launches. Throws Error if a row is not what it was.
[[nodiscard]] HostRowRates host_row_rates(int row_bytes, int repetitions, EventTimer& timer,
                                          const gpu::Stream& stream);

/// Rate of a plain copy of a whole block from the host, GB/s.
[[nodiscard]] double host_copy_rate(int repetitions, EventTimer& timer, const gpu::Stream& stream);

}  // namespace neuroshard::bench
