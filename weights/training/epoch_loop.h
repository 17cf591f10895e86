#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/training.h"
#include "weights/training/training_state.h"

namespace neuroshard::training {

/// Sample numbers of the three parts.
struct Split {
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> valid;
  std::vector<std::uint32_t> test;
};

/// Shuffles `samples` and deals them out 80/10/10 onto `split`. Throws Error if there are fewer
/// than 10; `what` names them.
void deal_out(std::vector<std::uint32_t> samples, const std::string& what, Random& random,
              Split& split);

/// A network in training, as the epoch loop sees it.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual double mean_loss(std::span<const std::uint32_t> samples) = 0;
  /// Costs of the samples, one after the other; a sample may have several.
  [[nodiscard]] virtual std::vector<float> predict(std::span<const std::uint32_t> samples) = 0;
  virtual void remember_weights() = 0;
  virtual void recall_weights() = 0;
  virtual void visit_state(const std::string& name, StateVisitor& visitor) = 0;

  // An epoch, for whose steps nobody waits one by one: they may be computed on another device.

  /// Samples in the order in which the steps are to take them.
  virtual void begin_epoch(std::span<const std::uint32_t> order) = 0;
  /// A step with the next `count` samples.
  virtual void queue_step(std::size_t count, double learning_rate) = 0;
  /// Mean loss of the steps so far, over their samples, before each step.
  [[nodiscard]] virtual double epoch_loss() = 0;
};

/// After the share `progress` of all steps, 0 to 1.
[[nodiscard]] double learning_rate_at(const TrainingOptions& options, double progress);

/// Trains one network, epoch by epoch. Borrows everything it is given.
class EpochLoop {
 public:
  EpochLoop(Trainee& trainee, const Split& split, std::string network,
            const TrainingOptions& options, Random& random);

  [[nodiscard]] bool done() const { return stopped() || epochs() == options_.epochs; }
  /// When asked to, maybe in the middle of an epoch.
  [[nodiscard]] bool stopped() const { return summary_.stopped; }
  [[nodiscard]] int epochs() const { return static_cast<int>(history_.size()); }
  /// Throws Error if the validation error is no longer finite.
  void run_epoch();
  /// Puts the best epoch's weights into the trainee. The summary has everything but `tests`.
  TrainingSummary finish();

  /// Between epochs, of a loop that has not been stopped. Throws Error if the visitor puts back
  /// what cannot be.
  void visit_state(StateVisitor& visitor);
  /// After a visitor has put back the state of a run, in a loop that has run no epoch: is where
  /// that run was, and reports its epochs.
  void go_on();

 private:
  std::size_t run_steps(EpochReport& report);
  void note(const EpochReport& report);

  Trainee& trainee_;
  const Split& split_;
  const TrainingOptions& options_;
  Random& random_;
  std::vector<std::uint32_t> order_;  ///< Training samples, shuffled anew every epoch.
  std::vector<EpochReport> history_;  ///< Reports of the epochs run, the last one maybe in part.
  std::size_t steps_ = 0;
  std::size_t samples_ = 0;
  TrainingSummary summary_;
};

/// Throws Error naming the option that is out of range.
void validate(const TrainingOptions& options);
void validate_widths(std::span<const int> widths, const std::string& what);

}  // namespace neuroshard::training
