#include "weights/training/warm_start.h"

#include <numeric>
#include <vector>

#include "weights/training/calibration.h"
#include "weights/training/compute_trainee.h"

namespace neuroshard::training {
namespace {

constexpr std::uint64_t kOrderStream = 9;  // A stream of the seed; calibrate_models.cpp has others.

std::vector<std::uint32_t> all_of(const ComputeSamples& samples) {
  std::vector<std::uint32_t> all(samples.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

double loss_of_start(const ComputeModel& start, const ComputeSamples& samples,
                     const TrainingOptions& options) {
  ThreadTeam team(options.threads);
  const std::vector<std::uint32_t> all = all_of(samples);
  return ComputeTrainee(samples, all, start, options, best_matrix_kernels(), team).mean_loss(all);
}

ComputeModel trained_from(const ComputeModel& start, const ComputeSamples& samples,
                          const TrainingOptions& options) {
  ThreadTeam team(options.threads);
  std::vector<std::uint32_t> order = all_of(samples);
  ComputeTrainee trainee(samples, order, start, options, best_matrix_kernels(), team,
                         ComputeTrainee::Trained::kAll);
  Random random(options.seed, kOrderStream);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    (void)run_epoch(trainee, order, random, epoch, options);
  }
  return trainee.model();
}

}  // namespace neuroshard::training
