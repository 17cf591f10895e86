#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/thread_team.h"
#include "weights/training/batch_index.h"
#include "weights/training/cpu_trainee.h"
#include "weights/training/feature_statistics.h"
#include "weights/training/operator_pieces.h"
#include "weights/training/trainable_mlp.h"

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

  double differentiate(std::span<const std::uint32_t> batch) override;
  [[nodiscard]] TraineeData data() const override;

  [[nodiscard]] std::vector<float> predict(std::span<const std::uint32_t> samples) override;
  [[nodiscard]] ComputeModel model() const;

 private:
  [[nodiscard]] std::span<const float> costs_ms(std::uint32_t sample) const override {
    return std::span(samples_.cost_ms).subspan(sample, 1);
  }
  [[nodiscard]] int devices(std::uint32_t) const override { return 0; }

  /// Made in braces, so that they are drawn in this order.
  struct Networks {
    TrainableMlp table_network;
    TrainableMlp head;
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
  float typical_ms_ = 0.0F;  ///< A mean of the costs, which small ones are compared with.

  AlignedVector<float> table_inputs_;  ///< [pieces, padded features], normalised.
  TrainableMlp& table_network_;
  TrainableMlp& head_;
  BatchIndex index_;
  std::size_t batch_capacity_;
  std::size_t table_capacity_;       ///< Distinct tables that one batch can have.
  AlignedVector<float> inputs_;      ///< [distinct tables of the batch, padded features]
  AlignedVector<float> shard_sums_;  ///< [batch, padded embedding width]
  AlignedVector<float> shard_sum_gradients_;
  TrainableMlp::Tape table_tape_;
  TrainableMlp::Tape head_tape_;
  std::vector<double> losses_;  ///< One per chunk.
};

}  // namespace neuroshard::training
