#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/aligned_vector.h"
#include "weights/collection/cpu_operator.h"
#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// Replicas of which ranks exchange the rows that are touched (ReplicaGradients::kTouched): each
/// gathers the summed gradients of the rows that its samples touch from all, and updates its copy
/// by them, rank by rank, so that all copies stay alike.
class TouchedReplicas {
 public:
  /// `replicas` are weights and lookups of this rank's `samples`; weights are borrowed. All ranks
  /// at once.
  TouchedReplicas(const RankGroup& group, const std::vector<OperatorTable>& replicas,
                  std::int64_t samples);

  /// In the order of the replicas: tables of the touched rows alone, for an operator that adds
  /// gradients up in them. Zero at first, and after each update. Offsets are the replica's.
  [[nodiscard]] const std::vector<OperatorTable>& gradients() const { return gradients_; }

  /// All ranks at once.
  void update(ThreadTeam& team, float learning_rate);

 private:
  const RankGroup& group_;
  std::vector<OperatorTable> replicas_;
  std::vector<std::vector<std::int64_t>> indices_;  // Of the lookups: places among the rows.
  std::vector<std::int64_t> rows_;                  // Touched, ascending, table by table.
  AlignedVector<float> sums_;                       // Of their gradients.
  std::vector<OperatorTable> gradients_;
  std::vector<std::int64_t> counts_;  // [rank, table]: rows.
  PeerParts row_parts_;
  PeerParts sum_parts_;
  std::vector<std::int64_t> all_rows_;  // Rank by rank.
  AlignedVector<float> all_sums_;
};

}  // namespace neuroshard::ranks
