#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weights/training/adam.h"
#include "weights/training/epoch_loop.h"
#include "weights/training/feature_statistics.h"
#include "weights/training/loss.h"
#include "weights/training/trainable_mlp.h"
#include "weights/training/unit_gains.h"

namespace neuroshard::training {

/// A network in training, with all that its steps need. Call parameters_changed() of `mlp` after
/// writing its parameters.
struct NetworkInTraining {
  NetworkInTraining(std::string name_in_states, TrainableMlp start)
      : name(std::move(name_in_states)),
        mlp(std::move(start)),
        adam(mlp.parameters().size()),
        best(mlp.parameters()) {}

  /// Makes room for the gradients of a batch, in so many parts.
  void begin_gradients(std::size_t parts);
  /// The parts of the last batch, to be added up.
  [[nodiscard]] std::span<const AlignedVector<float>> latest_gradients() const {
    return std::span(gradients).first(parts);
  }

  std::string name;  ///< In states of training.
  TrainableMlp mlp;
  Adam adam;
  AlignedVector<float> best;                    ///< Parameters that are remembered.
  std::optional<UnitGains> gains{};             ///< If it started with a network; only they change.
  std::vector<AlignedVector<float>> gradients;  ///< One for each part of any batch so far.
  std::size_t parts = 0;
};

/// The data set of a trainee, for a backend that computes its steps (training_backend.h).
/// Samples have rows, which go through the first network. If there is a second one, the outputs of
/// the first, after a ReLU, are added up for each sample and go through the second, whose one
/// output is the sample's cost; otherwise the outputs of its rows are a sample's costs.
struct TraineeData {
  std::vector<float> inputs;           ///< Normalised: [any, input_stride() of the first network].
  std::vector<std::uint32_t> row_ids;  ///< The row of `inputs` of each row; empty: its own number.
  std::vector<std::size_t> offsets;    ///< First row of each sample, then the number of all rows.
  std::vector<float> costs_ms;         ///< Costs of each sample, or of each row's outputs.
};

/// A trainee whose steps are computed here and now. The loss is the mean over samples of the mean
/// over a sample's costs.
class CpuTrainee : public Trainee {
 public:
  CpuTrainee(const CpuTrainee&) = delete;
  CpuTrainee& operator=(const CpuTrainee&) = delete;

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

  /// One step of Adam. Returns the batch's mean loss before the step.
  double step(std::span<const std::uint32_t> batch, double learning_rate);
  [[nodiscard]] double mean_loss(std::span<const std::uint32_t> samples) final;
  void remember_weights() final;
  void recall_weights() final;
  void visit_state(const std::string& name, StateVisitor& visitor) final;

  /// Mean loss of a batch; leaves its gradients in the networks.
  virtual double differentiate(std::span<const std::uint32_t> batch) = 0;
  /// Results by device count for `samples`, of which predict() gave `predicted_ms`.
  [[nodiscard]] std::vector<TestResult> tests(std::span<const std::uint32_t> samples,
                                              std::span<const float> predicted_ms) const;

  [[nodiscard]] std::span<NetworkInTraining> networks() { return networks_; }
  [[nodiscard]] const CostScale& scale() const { return scale_; }
  [[nodiscard]] const CostLoss& loss() const { return cost_loss_; }
  [[nodiscard]] virtual TraineeData data() const = 0;

 protected:
  explicit CpuTrainee(std::vector<NetworkInTraining> networks) : networks_(std::move(networks)) {}

  [[nodiscard]] virtual std::span<const float> costs_ms(std::uint32_t sample) const = 0;
  /// 0 if the cost of a sample is that of an operator.
  [[nodiscard]] virtual int devices(std::uint32_t sample) const = 0;

  std::vector<NetworkInTraining> networks_;
  CostScale scale_;
  CostLoss cost_loss_;

 private:
  std::span<const std::uint32_t> order_;
  std::size_t done_ = 0;
  double losses_ = 0.0;
};

}  // namespace neuroshard::training
