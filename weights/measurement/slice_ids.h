#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/plan.h"
#include "weights/collection/ranks/rank_group.h"
#include "weights/lookups/stream_store.h"

namespace neuroshard::ranks {

/// The ids of one batch on their way from the samples' ranks to the slices' ranks. A slice of
/// columns is sent all ids of its table, a block of rows those of its rows, counted from its first
/// one. Lengths go before, once: all iterations have the same batch.
class SliceIds {
 public:
  /// All ranks at once. `streams` has the task's tables; of its samples the first D * `samples`
  /// count, `samples` for each rank. `group` is borrowed.
  SliceIds(const RankGroup& group, const Plan& plan, StreamStore& streams, std::int64_t samples);

  /// The all-to-all of the ids, as Exchange does it.
  [[nodiscard]] double exchange_ms(Clock::time_point start);
  /// What came rank by rank, put slice by slice.
  void arrange();

  /// Of slice number `slice` of this rank's shard, all D * `samples` samples of it: OperatorTable.
  [[nodiscard]] const std::int64_t* indices(std::size_t slice) const;
  [[nodiscard]] const std::int64_t* offsets(std::size_t slice) const;

 private:
  struct Run {
    std::int64_t from;
    std::int64_t to;
    std::int64_t count;
  };

  [[nodiscard]] std::vector<std::int64_t> deal(const Plan& plan, StreamStore& streams,
                                               std::int64_t samples);

  const RankGroup& group_;
  std::vector<std::int64_t> sent_;      // Device by device, slice by slice.
  std::vector<std::int64_t> received_;  // Rank by rank, slice by slice.
  std::vector<std::int64_t> arranged_;  // Slice by slice, rank by rank.
  PeerParts sent_parts_;
  PeerParts received_parts_;
  std::vector<Run> runs_;  // From received_ to arranged_.
  std::vector<std::int64_t> first_;
  std::vector<std::vector<std::int64_t>> offsets_;
};

}  // namespace neuroshard::ranks
