#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/aligned_vector.h"
#include "weights/collection/cpu_operator.h"
#include "weights/measurement/phases.h"
#include "weights/measurement/slice_ids.h"
#include "weights/measurement/touched_replicas.h"

namespace neuroshard::ranks {

/// What the ranks of a plan's devices run, the same on all. All are borrowed.
struct PlanRun {
  const Task& task;
  const Plan& plan;  ///< Valid, for as many devices as there are ranks.
  /// Has the task's tables; of its samples those count that can be shared out evenly.
  StreamStore& streams;
  float learning_rate = 0.0F;
};

/// Floats that device `device` needs for weights and gradients of its tables.
[[nodiscard]] std::int64_t weights_needed(const Task& task, const Plan& plan, std::size_t device);

/// One device's weights: of its slices, one after the other, then of the replicas, then
/// dense gradients of replicas. Throws std::bad_alloc.
[[nodiscard]] AlignedVector<float> device_weights(ThreadTeam& team, const PlanRun& run,
                                                  std::size_t device);

/// Training iterations of a plan's tables, as the device of this rank takes part in them. In place
/// of the dense network stands a loss of half the sum of the squares of all pooled values, so that
/// these are their own gradients; SGD is exact. Weights begin as initial_weight().
///
/// Phases come in the order in which devices wait for each other in the cost models: gradients go
/// back, operators run backward and then forward for the next iteration, and outputs go out, when
/// all wait for the last. All-reduce, update and lookup of replicas come after it. Before ids,
/// gradients and all-reduce all ranks agree on an instant.
class RankIteration {
 public:
  /// All ranks at once, like everything here. Exchanges ids and runs forward once. `weights` are
  /// device_weights() of this rank.
  RankIteration(const RankGroup& group, Exchange& exchange, ThreadTeam& team, const PlanRun& run,
                AlignedVector<float> weights);

  [[nodiscard]] PhaseTimes run();

  /// Pooled values of this rank's samples, [batch / D, columns of the table].
  [[nodiscard]] std::vector<float> pooled(int table);
  /// [rows, dim] of a slice of this rank's shard, or of a replica by its place among them.
  [[nodiscard]] const float* slice_weights(std::size_t slice) const;
  [[nodiscard]] const float* replica_weights(std::size_t replica) const;

 private:
  // A slice's columns of this rank's samples, among all that it receives.
  struct ReceivedSlice {
    TableSlice slice;
    std::int64_t first;   // Of the exchange's own_samples().
    std::int64_t stride;  // From sample to sample.
  };

  void lay_out_slices();
  void lay_out_replicas();
  void lay_out_received();
  void forward_slices(PhaseTimes& times);
  void forward_replicas(PhaseTimes& times);
  void all_reduce(PhaseTimes& times);
  void update_dense_replicas();
  void add_partial_sums();

  const RankGroup& group_;
  Exchange& exchange_;
  ThreadTeam& team_;
  PlanRun run_;
  std::int64_t samples_;  // Of each rank.
  CpuOperator operator_;
  AlignedVector<float> weights_;
  SliceIds ids_;
  OperatorShard slices_;
  OperatorShard replicas_;
  OperatorShard replica_gradients_;  // The same lookups; gradients in the place of weights.
  std::vector<std::span<float>> dense_weights_;  // Of replicas with dense gradients.
  std::span<float> gradients_;                   // Dense.
  std::optional<TouchedReplicas> touched_;
  std::vector<std::shared_ptr<const AccessStream>> replica_streams_;
  std::vector<std::vector<std::int64_t>> replica_offsets_;
  AlignedVector<float> replica_output_;
  std::vector<ReceivedSlice> received_;
  std::vector<int> row_cut_;  // Tables of which there are row blocks.
};

}  // namespace neuroshard::ranks
