#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

#include "neuroshard/plan.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// The parts of Algorithm::kNeuroshard, in the order in which they begin (docs/search.md).
enum class SearchStage {
  kUniform,      ///< Tables cut to one width.
  kGreedy,       ///< The greedy baselines.
  kLadder,       ///< Ways and cuts of all tables at once, from estimates; then small moves.
  kRoom,         ///< Placement by size alone, where nothing else finds room.
  kPublished,    ///< The published search.
  kImprovement,  ///< The cheapest plan so far, changed for the better.
};

/// "uniform", "greedy", "ladder", "room", "published", "improvement".
[[nodiscard]] std::string_view name_of(SearchStage stage);

/// A plan that is better than all before it.
struct Improvement {
  const Plan& plan;
  const PlanCost& cost;
  double elapsed_ms = 0.0;                    ///< Time since the search began.
  SearchStage stage = SearchStage::kUniform;  ///< Stage that found it.
};

/// A price of what tables store for good, on the device that stores most: weights, and perhaps the
/// state of their optimizers, replicas among them. It stands for work that goes through all of it
/// again and again, such as averaging (device_groups.h).
struct StoragePrice {
  double ms_per_gib = 0.0;  ///< 0 to kMostMsPerStoredGib, of an iteration.
  bool optimizer_state = true;
  /// Only rows that so many samples look up have a price, by the popularity of rows, and each row
  /// has a byte that says whether it is one. 0 to kMostTouchingSamples; 0: all rows have a price.
  double touched_in_samples = 0.0;

  /// The part of `memory`, of so many rows of `table`, that has a price.
  [[nodiscard]] std::int64_t bytes_of(const Table& table, std::int64_t rows,
                                      const SliceMemory& memory) const;
  [[nodiscard]] double ms(std::int64_t bytes) const { return ms_per_gib * gib_from_bytes(bytes); }
};

/// Bytes on each device that have the price under `plan`, a valid one of `task`; [devices].
[[nodiscard]] std::vector<std::int64_t> stored_bytes(const StoragePrice& price, const Task& task,
                                                     const Plan& plan);

inline constexpr double kMostMsPerStoredGib = 1e6;
inline constexpr double kMostTouchingSamples = 1e18;

/// The time `ms` from now. Nothing unless `ms` is between 0 and 1e9, which is longer than anybody
/// waits, and no trouble for clocks.
[[nodiscard]] inline std::optional<std::chrono::steady_clock::time_point> deadline_in(double ms) {
  using Clock = std::chrono::steady_clock;
  if (!(ms >= 0.0 && ms <= 1e9)) return std::nullopt;
  const std::chrono::duration<double, std::milli> time(ms);
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
}

/// Requests of a caller for one plan, beside the task. Algorithm::kPublished and the baselines
/// ignore them.
struct PlanRequest {
  /// Time at which to return with the best plan found so far. With a task that has links,
  /// deduplicates by table, or has hot rows or host memory, half of the time is for a plan without.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  /// Another way to end early, looked at after some tenths of a millisecond; by a GPU after one.
  std::stop_token stop{};
  /// Number of other plans to return, the best ones that the search came across; 0 to 1,000.
  int alternatives = 0;
  /// Plans are compared by their cost and this, which is no part of PlanCost.
  StoragePrice storage{};
  /// Called on the planning thread for each better plan, from the first one on. An exception that
  /// it throws ends the search and reaches the caller.
  std::function<void(const Improvement&)> on_improvement{};
};

}  // namespace neuroshard
#pragma GCC visibility pop
