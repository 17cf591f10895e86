#pragma once

#include <cstdint>

#include "weights/collection/cost_sources.h"
#include "weights/collection/measurement.h"
#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// The measurement, which is the same on all ranks. All are borrowed.
struct RankMeasurement {
  RankGroup& group;
  Exchange& exchange;
  MeasurementProtocol protocol;
  std::int64_t batch = 0;  ///< Samples of all ranks together, for all-to-alls.
};

/// Rank 0's end: sends each draw to all ranks, measures with them, and collects their costs. While
/// it lives the other ranks are in serve_samples, from which they return when it goes.
///
/// In each run all ranks agree on an instant; a rank starts its start offset after it, and its cost
/// goes from then until it has everything. So a rank's forward cost includes the wait for those
/// that start later. Backward without offsets. Each rank's cost is the median of its timed runs.
class RankSource : public CommCostSource {
 public:
  explicit RankSource(const RankMeasurement& measurement) : measurement_(measurement) {}
  ~RankSource() override;
  RankSource(const RankSource&) = delete;
  RankSource& operator=(const RankSource&) = delete;

  /// `draw` is of as many devices as there are ranks.
  [[nodiscard]] CommCost cost(const CommDraw& draw) override;

  /// All-reduce of so many bytes of fp32 gradients, with the step of SGD that follows: of ranks
  /// that begin together, the one in the middle.
  [[nodiscard]] double all_reduce_ms(std::int64_t bytes);

  /// True after one of them has thrown: the other ranks are somewhere within the sample, and can
  /// only be aborted.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  RankMeasurement measurement_;
  bool broken_ = false;
};

/// The end of all other ranks. Throws what the exchange throws; the others can only be aborted
/// then.
void serve_samples(const RankMeasurement& measurement);

}  // namespace neuroshard::ranks
