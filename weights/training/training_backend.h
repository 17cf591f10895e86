#pragma once

#include <cstddef>
#include <memory>

#include "weights/training/cpu_trainee.h"

namespace neuroshard {

/// Where the steps of training are computed, if not by the CPU.
class TrainingBackend {
 public:
  virtual ~TrainingBackend() = default;

  /// A trainee that goes on from the state of `host`, in steps of up to `batch` samples. Weights
  /// that it recalls are put into `host`, too, and states that it is shown are those of `host`.
  /// Borrows `host`. Throws Error (kBackend) if the device fails or lacks memory, as do all calls
  /// of the trainee.
  [[nodiscard]] virtual std::unique_ptr<training::Trainee> take_over(training::CpuTrainee& host,
                                                                     std::size_t batch) const = 0;
};

namespace training {

/// By `options.backend`. Null if there is none: `host` takes the steps itself.
[[nodiscard]] inline std::unique_ptr<Trainee> take_over(CpuTrainee& host,
                                                        const TrainingOptions& options) {
  if (!options.backend) return nullptr;
  return options.backend->take_over(host, static_cast<std::size_t>(options.batch));
}

}  // namespace training
}  // namespace neuroshard
