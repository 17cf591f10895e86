#pragma once

#include <memory>
#include <string>
#include <vector>

#include "neuroshard/training.h"
#include "weights/training/epoch_loop.h"
#include "weights/training/matrix_kernels.h"

namespace neuroshard::bench {

/// Samples to train on, with analytic costs: combinations of `tables` drawn as published, and
/// placements on 4 devices, of which the symmetric network sees some on 2 and 8, too.
struct TrainingSet {
  ComputeSamples compute;
  std::vector<CommSamples> dense_comm;
  std::vector<CommSamples> symmetric_comm;
};
[[nodiscard]] TrainingSet draw_training_set(const std::vector<Table>& tables, std::size_t samples);

/// A network and everything that training it needs, alive between rounds.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;
  /// An epoch as `neuroshard train` has it, evaluation included.
  virtual void run_epoch() = 0;
  [[nodiscard]] virtual double validation_loss() = 0;
  [[nodiscard]] virtual std::size_t samples_per_epoch() const = 0;
};

/// "compute", "comm dense" (4 devices, forward) and "comm symmetric" (2, 4, 8 devices, forward).
[[nodiscard]] const std::vector<std::string>& trained_networks();
/// The run borrows all but the name and the backend, which takes the steps; null: the CPU, with
/// `kernels`. At most `most_samples` of the training samples are used.
[[nodiscard]] std::unique_ptr<TrainingRun> make_training_run(
    const std::string& network, const TrainingSet& set, std::size_t most_samples,
    const training::MatrixKernels& kernels, int threads,
    std::shared_ptr<const TrainingBackend> backend = nullptr);

/// The trainer's own code with products by cblas_sgemm; null if nsbench was built without OpenBLAS.
[[nodiscard]] const training::MatrixKernels* openblas_matrix_kernels();

}  // namespace neuroshard::bench
