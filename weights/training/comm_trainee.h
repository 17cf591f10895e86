#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/thread_team.h"
#include "weights/training/comm_rows.h"
#include "weights/training/cpu_trainee.h"
#include "weights/training/feature_statistics.h"
#include "weights/training/trainable_mlp.h"

namespace neuroshard::training {

/// A communication network in training, dense or symmetric. Borrows rows and team.
class CommTrainee final : public CpuTrainee {
 public:
  /// `training`: sample numbers, whose costs give the scale of the outputs. `hidden`: widths of
  /// the hidden layers.
  CommTrainee(const CommRows& rows, std::span<const std::uint32_t> training,
              std::span<const int> hidden, TrainingLoss loss, const MatrixKernels& kernels,
              ThreadTeam& team, Random& random);
  /// Starts with a symmetric network in the place of random weights, and trains its gains only.
  /// Inputs stay scaled as they are there; costs are multiplied by the factor that fits the
  /// training samples.
  CommTrainee(const CommRows& rows, std::span<const std::uint32_t> training,
              const SymmetricCommNetwork& start, TrainingLoss loss, const MatrixKernels& kernels,
              ThreadTeam& team);

  double differentiate(std::span<const std::uint32_t> batch) override;
  [[nodiscard]] TraineeData data() const override;

  /// One cost per device of each sample.
  [[nodiscard]] std::vector<float> predict(std::span<const std::uint32_t> samples) override;
  [[nodiscard]] CommNetwork network() const;

 private:
  [[nodiscard]] std::span<const float> costs_ms(std::uint32_t sample) const override {
    return rows_.targets(sample);
  }
  [[nodiscard]] int devices(std::uint32_t sample) const override { return rows_.devices(sample); }

  /// Memory of one worker for one chunk.
  struct Scratch {
    AlignedVector<float> inputs;
    TrainableMlp::Tape tape;
  };
  CommTrainee(const CommRows& rows, TrainableMlp network, TrainingLoss loss,
              const MatrixKernels& kernels, ThreadTeam& team);
  /// How much a sample counts in the means and deviations below: the same each, or with the
  /// relative loss, in which small costs count as much as large ones, by one over the square root
  /// of its mean cost: where costs span decades, plain deviations are those of the largest.
  [[nodiscard]] std::vector<double> importances() const;
  void measure_features(std::span<const double> importances);
  void measure_costs(std::span<const std::uint32_t> training, std::span<const double> importances);
  void deal_out_chunks(std::span<const std::uint32_t> samples);
  /// Normalised inputs of the samples, [rows, input_stride()]; returns how many rows.
  std::size_t write_inputs(std::span<const std::uint32_t> samples, float* rows) const;
  std::size_t run_forward(std::span<const std::uint32_t> samples, Scratch& scratch);
  double differentiate_chunk(std::span<const std::uint32_t> samples, std::size_t batch,
                             Scratch& scratch, float* gradient);

  const CommRows& rows_;
  const MatrixKernels& kernels_;
  ThreadTeam& team_;
  Normalization features_;
  TrainingLoss loss_;

  TrainableMlp& network_;
  std::vector<std::size_t> chunk_offsets_;  ///< Positions in the batch; chunks + 1 entries.
  std::vector<Scratch> scratch_;            ///< One per worker.
  std::vector<double> losses_;              ///< One per chunk.
};

}  // namespace neuroshard::training
