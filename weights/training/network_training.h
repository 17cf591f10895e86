#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/random.h"
#include "weights/training/epoch_loop.h"
#include "weights/training/training_backend.h"

namespace neuroshard::training {

/// A network that is trained, with its samples, here or where the options say. Borrows the options.
template <typename TraineeOfNetwork>
class NetworkTraining {
 public:
  /// `make(training, random)` makes the trainee for the samples of training; what it draws comes
  /// before what the loop draws.
  template <typename Make>
  NetworkTraining(Split split, std::string network, const TrainingOptions& options, Random random,
                  const Make& make)
      : split_(std::move(split)),
        random_(random),
        host_(make(std::span<const std::uint32_t>(split_.train), random_)),
        elsewhere_(take_over(host_, options)),
        loop_(trainee(), split_, std::move(network), options, random_) {}
  NetworkTraining(const NetworkTraining&) = delete;
  NetworkTraining& operator=(const NetworkTraining&) = delete;

  [[nodiscard]] EpochLoop& loop() { return loop_; }
  [[nodiscard]] const Split& split() const { return split_; }
  /// The one that takes the steps.
  [[nodiscard]] Trainee& trainee() { return elsewhere_ ? *elsewhere_ : host_; }

  /// The summary, with tests. The trainee has the weights of the best epoch then.
  TrainingSummary finish() {
    TrainingSummary summary = loop_.finish();
    summary.tests = host_.tests(split_.test, host_.predict(split_.test));
    return summary;
  }
  /// Up to date after finish().
  [[nodiscard]] const TraineeOfNetwork& trained() const { return host_; }

 private:
  Split split_;
  Random random_;
  TraineeOfNetwork host_;
  std::unique_ptr<Trainee> elsewhere_;
  EpochLoop loop_;
};

}  // namespace neuroshard::training
