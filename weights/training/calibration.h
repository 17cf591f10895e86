#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weights/training/cpu_trainee.h"

namespace neuroshard::training {

/// Makes a trainee that starts with a trained network, scaled to the costs of these samples.
using MakeTrainee =
    std::function<std::unique_ptr<CpuTrainee>(std::span<const std::uint32_t> samples)>;

/// Steps with all samples of `order` once, in random order: epoch `epoch`, from 0, of
/// `options.epochs`. Returns the sum of the samples' losses before their steps.
double run_epoch(CpuTrainee& trainee, std::vector<std::uint32_t>& order, Random& random, int epoch,
                 const TrainingOptions& options);

/// Fits a trained network to few samples. They are split into five parts; five trainees, each
/// without one part, run epoch by epoch side by side. The number of epochs, from none at all, at
/// which they predict the parts that they did not see best is the one that a last trainee, of all
/// samples, is then trained for.
class Calibration {
 public:
  static constexpr std::size_t kParts = 5;
  static constexpr std::size_t kFewestSamples = 4 * kParts;

  /// `samples` is how many there are, in random order; borrows the options.
  Calibration(MakeTrainee make, std::vector<std::uint32_t> samples, std::string network,
              const TrainingOptions& options);

  /// Runs until all epochs are done or options.should_stop says so.
  void cross_validate();
  /// The trainee of all samples, for as many epochs as were best: the options' should_stop is not
  /// asked.
  [[nodiscard]] std::unique_ptr<CpuTrainee> train();

  /// `tests` are those of trainees on samples that they have not seen. The samples of training are
  /// all samples.
  [[nodiscard]] const TrainingSummary& summary() const { return summary_; }

 private:
  [[nodiscard]] std::span<const std::uint32_t> part(std::size_t index) const;

  MakeTrainee make_;
  std::vector<std::uint32_t> samples_;
  const TrainingOptions& options_;
  TrainingSummary summary_;
};

}  // namespace neuroshard::training
