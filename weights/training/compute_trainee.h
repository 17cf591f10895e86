#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/thread_team.h"
#include "weights/training/adam.h"
#include "weights/training/batch_index.h"
#include "weights/training/cpu_trainee.h"
#include "weights/training/feature_statistics.h"
#include "weights/training/loss.h"
#include "weights/training/operator_pieces.h"
#include "weights/training/trainable_mlp.h"
#include "weights/training/unit_gains.h"

namespace neuroshard::training {

/// The compute model in training. A step has three parts, each shared out in chunks of fixed size:
/// table network for the batch's distinct tables; sums, head and loss for its samples; back
/// through the table network. Borrows the samples and the team.
class ComputeTrainee final : public CpuTrainee {
 public:
  /// `training`: sample numbers, whose costs give the scale of the outputs.
  ComputeTrainee(const ComputeSamples& samples, std::span<const std::uint32_t> training,
                 const ComputeNetworkSizes& sizes, const TrainingOptions& options,
                 const MatrixKernels& kernels, ThreadTeam& team, Random& random);
  /// So much of a model that training starts with is changed.
  enum class Trained { kGains, kAll };
  /// Starts with a model in the place of random weights. Features stay scaled as they are there;
  /// costs are multiplied by the factor that fits the training samples.
  ComputeTrainee(const ComputeSamples& samples, std::span<const std::uint32_t> training,
                 const ComputeModel& start, const TrainingOptions& options,
                 const MatrixKernels& kernels, ThreadTeam& team, Trained trained = Trained::kGains);

  double step(std::span<const std::uint32_t> batch, double learning_rate) override;
  double mean_loss(std::span<const std::uint32_t> samples) override;
  void remember_weights() override;
  void recall_weights() override;
  void visit_state(const std::string& name, StateVisitor& visitor) override;
  [[nodiscard]] TraineeParts parts() override;

  [[nodiscard]] std::vector<float> predict(std::span<const std::uint32_t> samples) override;
  [[nodiscard]] ComputeModel model() const;

  /// Mean loss of a batch; leaves its gradient in parts, to be added up.
  double differentiate(std::span<const std::uint32_t> batch);
  [[nodiscard]] std::span<const AlignedVector<float>> table_gradients() const;
  [[nodiscard]] std::span<const AlignedVector<float>> head_gradients(std::size_t batch) const;
  [[nodiscard]] TrainableMlp& table_network() { return table_network_; }
  [[nodiscard]] const CostScale& scale() const { return scale_; }
  [[nodiscard]] TrainableMlp& head() { return head_; }

 private:
  struct Networks {
    TrainableMlp table_network;
    TrainableMlp head;
  };
  struct Gains {
    UnitGains table_network;
    UnitGains head;
  };
  ComputeTrainee(const ComputeSamples& samples, const OperatorPieces& pieces, Networks networks,
                 const TrainingOptions& options, const MatrixKernels& kernels, ThreadTeam& team);
  ComputeTrainee(const ComputeSamples& samples, const OperatorPieces& pieces,
                 std::span<const std::uint32_t> training, const ComputeNetworkSizes& sizes,
                 const TrainingOptions& options, const MatrixKernels& kernels, ThreadTeam& team,
                 Random& random);
  ComputeTrainee(const ComputeSamples& samples, const OperatorPieces& pieces,
                 std::span<const std::uint32_t> training, const ComputeModel& start,
                 const TrainingOptions& options, const MatrixKernels& kernels, ThreadTeam& team,
                 Trained trained);
  void normalize_inputs(const OperatorPieces& pieces);
  /// Features and costs have mean 0 and deviation 1.
  void scale_as_published(const OperatorPieces& pieces, std::span<const std::uint32_t> training);
  /// Features, in relation to the `time_us` of their piece, are of the size of 1, and
  /// costs in relation to that of their sample.
  void scale_by_time(const OperatorPieces& pieces, std::span<const std::uint32_t> training);
  void embed_chunk(std::size_t chunk);
  void pool(std::size_t sample_in_batch);
  void score_chunk(std::size_t chunk, std::size_t batch);
  double differentiate_chunk(std::span<const std::uint32_t> batch, std::size_t chunk);
  void propagate_chunk(std::size_t chunk);

  const ComputeSamples& samples_;
  std::vector<std::uint32_t> piece_ids_;  ///< In the place of the samples' table ids.
  const MatrixKernels& kernels_;
  ThreadTeam& team_;
  Normalization features_;
  CostScale scale_;
  float typical_ms_ = 0.0F;  ///< A mean of the costs, which small ones are compared with.
  CostLoss cost_loss_;

  AlignedVector<float> table_inputs_;  ///< [pieces, padded features], normalised.
  TrainableMlp table_network_;
  TrainableMlp head_;
  Adam table_adam_;
  Adam head_adam_;
  BatchIndex index_;
  std::size_t batch_capacity_;
  std::size_t table_capacity_;       ///< Distinct tables that one batch can have.
  AlignedVector<float> inputs_;      ///< [distinct tables of the batch, padded features]
  AlignedVector<float> shard_sums_;  ///< [batch, padded embedding width]
  AlignedVector<float> shard_sum_gradients_;
  TrainableMlp::Tape table_tape_;
  TrainableMlp::Tape head_tape_;
  std::vector<AlignedVector<float>> table_gradients_;  ///< One per chunk.
  std::vector<AlignedVector<float>> head_gradients_;
  std::vector<double> losses_;
  AlignedVector<float> best_table_;
  AlignedVector<float> best_head_;
  std::optional<Gains> gains_;  ///< If they alone are trained.
};

}  // namespace neuroshard::training
