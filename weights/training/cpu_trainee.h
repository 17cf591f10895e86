#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weights/training/adam.h"
#include "weights/training/epoch_loop.h"
#include "weights/training/feature_statistics.h"
#include "weights/training/loss.h"
#include "weights/training/trainable_mlp.h"

namespace neuroshard::training {

/// All that a trainee consists of, for a backend that computes its steps (training_backend.h).
/// Samples have rows, which go through the first network. If there is a second one, the outputs of
/// the first, after a ReLU, are added up for each sample and go through the second, whose one
/// output is the sample's cost; otherwise the outputs of its rows are a sample's costs.
struct TraineeParts {
  struct Network {
    TrainableMlp* mlp = nullptr;
    Adam* adam = nullptr;
    AlignedVector<float>* best = nullptr;  ///< Weights that are remembered.
  };

  std::vector<Network> networks;
  std::vector<float> inputs;           ///< Normalised: [any, input_stride() of the first network].
  std::vector<std::uint32_t> row_ids;  ///< The row of `inputs` of each row; empty: its own number.
  std::vector<std::size_t> offsets;    ///< First row of each sample, then the number of all rows.
  std::vector<float> costs_ms;         ///< Costs of each sample, or of each row's outputs.
  CostScale scale;
  CostLoss loss;
};

/// A trainee whose steps are computed here and now.
class CpuTrainee : public Trainee {
 public:
  void begin_epoch(std::span<const std::uint32_t> order) final {
    order_ = order;
    done_ = 0;
    losses_ = 0.0;
  }
  void queue_step(std::size_t count, double learning_rate) final {
    losses_ += static_cast<double>(count) * step(order_.subspan(done_, count), learning_rate);
    done_ += count;
  }
  [[nodiscard]] double epoch_loss() final { return losses_ / static_cast<double>(done_); }

  /// Points into this trainee. Call parameters_changed() of networks whose parameters are written.
  [[nodiscard]] virtual TraineeParts parts() = 0;

 private:
  std::span<const std::uint32_t> order_;
  std::size_t done_ = 0;
  double losses_ = 0.0;
};

}  // namespace neuroshard::training
