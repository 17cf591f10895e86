#include "weights/collection/ranks/rank_source.h"

#include <vector>

#include "neuroshard/error.h"

namespace neuroshard::ranks {
namespace {

enum class Command : std::int64_t { kStop, kSample };

Command broadcast_command(const RankGroup& group, Command command) {
  group.broadcast(std::as_writable_bytes(std::span(&command, 1)));
  return command;
}

// All ranks together; costs at rank 0.
CommCost measure(const RankMeasurement& measurement, CommDraw draw) {
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
  broadcast_command(measurement_.group, Command::kSample);
  CommCost cost = measure(measurement_, draw);
  broken_ = false;
  return cost;
}

void serve_samples(const RankMeasurement& measurement) {
  while (broadcast_command(measurement.group, Command::kStop) == Command::kSample) {
    (void)measure(measurement, {});
  }
}

}  // namespace neuroshard::ranks
