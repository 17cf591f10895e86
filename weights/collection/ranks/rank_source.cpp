#include "weights/collection/ranks/rank_source.h"

#include <algorithm>
#include <vector>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

enum class Command : std::int64_t { kStop, kAllToAll, kAllReduce };

Command broadcast_command(const RankGroup& group, Command command) {
  group.broadcast(std::as_writable_bytes(std::span(&command, 1)));
  return command;
}

// All ranks together; costs at rank 0.
CommCost measure_all_to_all(const RankMeasurement& measurement, CommDraw draw) {
  RankGroup& group = measurement.group;
  draw.dim_sums.resize(static_cast<std::size_t>(group.size()));
  draw.start_offsets_ms.resize(static_cast<std::size_t>(group.size()));
  group.broadcast(std::as_writable_bytes(std::span(draw.dim_sums)));
  group.broadcast(std::as_writable_bytes(std::span(draw.start_offsets_ms)));
  measurement.exchange.set_sample(draw.dim_sums, measurement.batch);
  group.compare_clocks();
  const std::chrono::duration<double, std::milli> offset(
      draw.start_offsets_ms[static_cast<std::size_t>(group.rank())]);
  const auto own_offset = std::chrono::duration_cast<Clock::duration>(offset);
  const auto nothing = [] {};
  const double forward = median_ms(measurement.protocol, nothing, [&] {
    return measurement.exchange.forward_ms(group.common_start(kAgreementTime) + own_offset);
  });
  const double backward = median_ms(measurement.protocol, nothing, [&] {
    return measurement.exchange.backward_ms(group.common_start(kAgreementTime));
  });
  return {group.gather(forward), group.gather(backward)};
}

// All ranks together; the cost is at rank 0.
double measure_all_reduce(const RankMeasurement& measurement, std::int64_t weights) {
  RankGroup& group = measurement.group;
  group.broadcast(std::as_writable_bytes(std::span(&weights, 1)));
  measurement.exchange.set_replicas(weights);
  group.compare_clocks();
  const auto nothing = [] {};
  const double own = median_ms(measurement.protocol, nothing, [&] {
    return measurement.exchange.all_reduce_ms(group.common_start(kAgreementTime));
  });
  std::vector<double> all = group.gather(own);
  if (all.empty()) return 0.0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

}  // namespace

RankSource::~RankSource() {
  if (broken_) return;
  try {
    broadcast_command(measurement_.group, Command::kStop);
  } catch (const Error&) {
    // A rank is gone, and the others know of it.
  }
}

CommCost RankSource::cost(const CommDraw& draw) {
  broken_ = true;
  broadcast_command(measurement_.group, Command::kAllToAll);
  CommCost cost = measure_all_to_all(measurement_, draw);
  broken_ = false;
  return cost;
}

double RankSource::all_reduce_ms(std::int64_t bytes) {
  broken_ = true;
  broadcast_command(measurement_.group, Command::kAllReduce);
  const double cost_ms = measure_all_reduce(measurement_, bytes / std::int64_t{sizeof(float)});
  broken_ = false;
  return cost_ms;
}

void serve_samples(const RankMeasurement& measurement) {
  while (true) {
    const Command command = broadcast_command(measurement.group, Command::kStop);
    if (command == Command::kStop) return;
    if (command == Command::kAllToAll) (void)measure_all_to_all(measurement, {});
    if (command == Command::kAllReduce) (void)measure_all_reduce(measurement, 0);
  }
}

}  // namespace neuroshard::ranks
