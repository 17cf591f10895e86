#include "weights/measurement/initial_weights.h"

#include <algorithm>

namespace neuroshard::ranks {
namespace {

// The finalizer of SplitMix64.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31);
}

std::uint64_t row_key(int table, std::int64_t row) {
  return mixed((static_cast<std::uint64_t>(table) << 40) + static_cast<std::uint64_t>(row) + 1);
}

float weight_of(std::uint64_t row_key, int column) {
  const std::uint64_t bits = mixed(row_key + static_cast<std::uint64_t>(column));
  return (static_cast<float>(bits >> 40) * 0x1p-24F - 0.5F) * 0.02F;
}

}  // namespace

float initial_weight(int table, std::int64_t row, int column) {
  return weight_of(row_key(table, row), column);
}

void fill_with_initial_weights(ThreadTeam& team, const TableSlice& slice, float* weights) {
  constexpr std::int64_t kRowsPerTask = 4096;
  const std::int64_t tasks = (slice.rows + kRowsPerTask - 1) / kRowsPerTask;
  team.run(static_cast<std::size_t>(tasks), [&](std::size_t task, std::size_t) {
    const std::int64_t first = static_cast<std::int64_t>(task) * kRowsPerTask;
    const std::int64_t last = std::min(first + kRowsPerTask, slice.rows);
    float* out = weights + first * slice.dim;
    for (std::int64_t row = first; row < last; ++row) {
      const std::uint64_t key = row_key(slice.table, slice.first_row + row);
      for (int column = 0; column < slice.dim; ++column) {
        *out++ = weight_of(key, slice.first_column + column);
      }
    }
  });
}

}  // namespace neuroshard::ranks
