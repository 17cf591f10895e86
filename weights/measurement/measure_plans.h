#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weights/collection/measurement.h"
#include "weights/measurement/rank_iteration.h"

namespace neuroshard::ranks {

/// Milliseconds over all timed iterations: the median, and the quartiles around it.
struct Spread {
  double median_ms = 0.0;
  double low_ms = 0.0;
  double high_ms = 0.0;
};

/// Quartiles are interpolated between neighbours. `values` are not empty.
[[nodiscard]] Spread spread_of(std::vector<double> values);

struct MeasuredDevice {
  std::array<Spread, kPhases> phases{};  ///< By Phase.
  Spread compute{};                      ///< Of forward and backward together.
  Spread total{};                        ///< Of what is priced.

  [[nodiscard]] const Spread& phase(Phase phase) const {
    return phases[static_cast<std::size_t>(phase)];
  }
};

/// Why a plan was not run: the memory of a device's machine.
struct LackOfMemory {
  int device = 0;
  std::string message;
};

struct MeasuredPlan {
  std::vector<MeasuredDevice> devices;
  Spread cost{};  ///< Of the iteration's slowest device.
  /// Then there is nothing else.
  std::optional<LackOfMemory> lack{};
};

struct PlanMeasurement {
  MeasurementProtocol protocol;  ///< Of each round.
  /// The plans are measured one after the other, so many times, so that what changes on the
  /// machine meanwhile changes all of them.
  int rounds = 1;
  int threads = 0;           ///< Of each rank, as threads_of_rank() takes them.
  bool flush_caches = true;  ///< Before each iteration, as in measured compute costs.
  /// Called at rank 0 when a plan has been measured once more.
  std::function<void()> on_measured{};
};

/// Threads of this rank, which calls: `wanted`, or, if that is 0, as many as it has CPUs of its
/// own; where it has none, its part of those of its machine, at most as many as it may run on.
[[nodiscard]] int threads_of_rank(const RankGroup& group, int wanted);

/// Runs each plan on the ranks of `group`, which are its devices; all ranks at once. Results at
/// rank 0, empty elsewhere. Throws Error (kBackend) if memory gives out half-way.
[[nodiscard]] std::vector<MeasuredPlan> measure_plans(RankGroup& group, Exchange& exchange,
                                                      std::span<const PlanRun> plans,
                                                      const PlanMeasurement& measurement);

}  // namespace neuroshard::ranks
