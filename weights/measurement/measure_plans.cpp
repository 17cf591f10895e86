#include "weights/measurement/measure_plans.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <thread>

#include "neuroshard/error.h"
#include "weights/collection/cache_flush.h"
#include "weights/collection/ranks/rank_cpus.h"
#include "weights/measurement/memory_check.h"

namespace neuroshard::ranks {
namespace {

// One rank's times of one plan, over all rounds.
struct PlanTimes {
  std::vector<PhaseTimes> iterations;
  std::optional<LackOfMemory> lack;
};

class Measurer {
 public:
  Measurer(RankGroup& group, Exchange& exchange, const PlanMeasurement& measurement)
      : group_(group),
        exchange_(exchange),
        measurement_(measurement),
        team_(threads_of_rank(group, measurement.threads)) {
    if (!team_.shortage().empty()) throw Error(team_.shortage(), ErrorKind::kBackend);
    // Written at once, so that memory that is then available does not include it.
    if (measurement.flush_caches) flush_.emplace(team_, group.local_size());
  }

  void measure_round(const PlanRun& run, PlanTimes& times) {
    if (times.lack) return;
    (void)group_.any(false);  // All have given up the memory of the plan before.
    times.lack = lack_of_memory(group_, run);
    if (times.lack) return;
    AlignedVector<float> weights;
    bool refused = false;
    try {
      weights = device_weights(team_, run, static_cast<std::size_t>(group_.rank()));
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    times.lack = refused_memory(group_, run, refused);
    if (times.lack) return;
    group_.compare_clocks();
    RankIteration iteration(group_, exchange_, team_, run, std::move(weights));
    const MeasurementProtocol& protocol = measurement_.protocol;
    for (int i = 0; i < protocol.warm_up + protocol.iterations; ++i) {
      if (flush_) (*flush_)();
      const PhaseTimes one = iteration.run();
      if (i >= protocol.warm_up) times.iterations.push_back(one);
    }
  }

 private:
  RankGroup& group_;
  Exchange& exchange_;
  const PlanMeasurement& measurement_;
  ThreadTeam team_;
  std::optional<CacheFlush> flush_;
};

// All ranks' times of a plan; all that they are worth at rank 0.
MeasuredPlan summary_of(const RankGroup& group, const PlanTimes& times) {
  MeasuredPlan plan;
  plan.lack = times.lack;
  if (plan.lack) return plan;
  const auto devices = static_cast<std::size_t>(group.size());
  // [iteration][device]
  std::vector<std::vector<PhaseTimes>> all(times.iterations.size(),
                                           std::vector<PhaseTimes>(devices));
  for (std::size_t i = 0; i < times.iterations.size(); ++i) {
    for (std::size_t p = 0; p < kPhases; ++p) {
      const std::vector<double> of_devices = group.gather(times.iterations[i].ms[p]);
      for (std::size_t d = 0; d < of_devices.size(); ++d) all[i][d].ms[p] = of_devices[d];
    }
  }
  const auto spread = [&](auto value_of) {
    std::vector<double> values;
    values.reserve(all.size());
    for (const std::vector<PhaseTimes>& iteration : all) values.push_back(value_of(iteration));
    return spread_of(std::move(values));
  };
  using Iteration = std::vector<PhaseTimes>;
  for (std::size_t d = 0; d < devices; ++d) {
    MeasuredDevice& device = plan.devices.emplace_back();
    for (std::size_t p = 0; p < kPhases; ++p) {
      device.phases[p] = spread([&](const Iteration& of) { return of[d].ms[p]; });
    }
    device.compute = spread([&](const Iteration& of) { return of[d].compute_ms(); });
    device.total = spread([&](const Iteration& of) { return of[d].total_ms(); });
  }
  plan.cost = spread([](const Iteration& of) {
    double slowest = 0.0;
    for (const PhaseTimes& device : of) slowest = std::max(slowest, device.total_ms());
    return slowest;
  });
  return plan;
}

}  // namespace

int threads_of_rank(const RankGroup& group, int wanted) {
  if (wanted > 0) return wanted;
  const int usable = usable_cpus();
  if (group.has_own_cpus()) return usable;
  if (group.in_one_process()) return std::max(1, usable / group.local_size());
  // A launcher may have bound each process to some CPUs, or none.
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(all / group.local_size(), 1, std::max(1, usable));
}

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - std::floor(place));
  };
  return {at(0.5), at(0.25), at(0.75)};
}

std::vector<MeasuredPlan> measure_plans(RankGroup& group, Exchange& exchange,
                                        std::span<const PlanRun> plans,
                                        const PlanMeasurement& measurement) {
  require_runs(measurement.protocol);
  std::vector<PlanTimes> times(plans.size());
  try {
    Measurer measurer(group, exchange, measurement);
    for (int round = 0; round < measurement.rounds; ++round) {
      for (std::size_t i = 0; i < plans.size(); ++i) {
        measurer.measure_round(plans[i], times[i]);
        if (group.rank() == 0 && measurement.on_measured) measurement.on_measured();
      }
    }
  } catch (const std::bad_alloc&) {
    throw Error("device " + std::to_string(group.rank()) +
                    ": memory gave out while a plan was measured; measure a smaller task or batch",
                ErrorKind::kBackend);
  }
  std::vector<MeasuredPlan> measured;
  measured.reserve(times.size());
  for (const PlanTimes& of_plan : times) measured.push_back(summary_of(group, of_plan));
  if (group.rank() != 0) measured.clear();
  return measured;
}

}  // namespace neuroshard::ranks
