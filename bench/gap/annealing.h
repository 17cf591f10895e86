#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/placement/cpu_backend.h"
#include "neuroshard/plan.h"

namespace neuroshard::bench {

/// What a step of annealing changes.
enum class Move { kMove, kSwap, kHalve, kMerge };
inline constexpr std::size_t kMoves = 4;
/// "move", "swap", "halve", "merge".
[[nodiscard]] std::string_view name_of(Move move);

struct AnnealingOptions {
  std::int64_t steps = 100000;
  std::uint64_t seed = 1;
  /// Rounds share the steps. Each begins at the cheapest plan so far: the first at the highest
  /// temperature, which leaves the start far behind, each further one at half the one before.
  int rounds = 4;
  /// Temperatures as shares of the cost; within a round they fall geometrically.
  double hottest = 1e-2;
  double coldest = 1e-5;
};

struct AnnealingResult {
  Plan plan;  ///< The cheapest met: never dearer than the start.
  double cost_ms = 0.0;
  /// Of each kind of move, [Move]: tried, accepted, and those that led to the cheapest plan so far.
  std::array<std::int64_t, kMoves> tried{};
  std::array<std::int64_t, kMoves> accepted{};
  std::array<std::int64_t, kMoves> improved{};
};

/// Simulated annealing (Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, Science,
/// 1983) of the exact predicted cost of a plan: moves and swaps of slices, halvings, and merges of
/// slices of one width. Shares no code with the search, which it is there to judge. Devices never
/// exceed their memory. Throws Error if `start` is not a valid plan that fits.
[[nodiscard]] AnnealingResult anneal(const CpuBackend& backend, const Task& task, const Plan& start,
                                     const AnnealingOptions& options);

}  // namespace neuroshard::bench
