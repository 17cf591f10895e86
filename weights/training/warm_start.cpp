#include "weights/training/warm_start.h"

#include <limits>
#include <string_view>
#include <vector>

#include "core/base/count_up.h"
#include "neuroshard/fitting.h"
#include "neuroshard/weights.h"
#include "weights/training/calibration.h"
#include "weights/training/compute_trainee.h"

namespace neuroshard::training {
namespace {

constexpr std::uint64_t kOrderStream = 9;  // A stream of the seed; calibrate_models.cpp has others.

}  // namespace

double loss_of_start(const ComputeModel& start, const ComputeSamples& samples,
                     const TrainingOptions& options) {
  ThreadTeam team(options.threads);
  const std::vector<std::uint32_t> all = count_up<std::uint32_t>(samples.size());
  return ComputeTrainee(samples, all, start, options, best_matrix_kernels(), team).mean_loss(all);
}

ComputeModel trained_from(const ComputeModel& start, const ComputeSamples& samples,
                          const TrainingOptions& options) {
  ThreadTeam team(options.threads);
  std::vector<std::uint32_t> order = count_up<std::uint32_t>(samples.size());
  ComputeTrainee trainee(samples, order, start, options, best_matrix_kernels(), team,
                         ComputeTrainee::Trained::kAll);
  Random random(options.seed, kOrderStream);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    (void)run_epoch(trainee, order, random, epoch, options);
  }
  return trainee.model();
}

}  // namespace neuroshard::training

namespace neuroshard {

std::string_view nearest_hardware(const ComputeSamples& samples) {
  TrainingOptions options = calibration_options();
  options.threads = 1;
  std::string_view nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string_view hardware : trained_hardware()) {
    const double loss =
        training::loss_of_start(builtin_weights(hardware).compute, samples, options);
    if (loss >= least) continue;
    least = loss;
    nearest = hardware;
  }
  return nearest;
}

}  // namespace neuroshard
