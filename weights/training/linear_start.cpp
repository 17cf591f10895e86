#include "weights/training/linear_start.h"

#include <algorithm>
#include <vector>

#include "core/base/count_up.h"
#include "weights/training/calibration.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/linear_cost.h"

namespace neuroshard::training {
namespace {

constexpr std::uint64_t kDrawnStream = 8;  // A stream of the seed; train_models.cpp has others.
constexpr std::size_t kDrawnOperators = 1500;
constexpr int kDrawnEpochs = 60;

}  // namespace

ComputeModel linear_start(const ComputeModel& start, const ComputeSamples& samples,
                          std::span<const std::uint32_t> used, TrainingOptions options,
                          ThreadTeam& team) {
  const ComputeSamples drawn = drawn_operators(samples, used, kDrawnOperators, options.seed);
  std::vector<std::uint32_t> order = count_up<std::uint32_t>(drawn.size());
  ComputeTrainee trainee(drawn, order, start, options, best_matrix_kernels(), team);
  options.epochs = std::min(options.epochs, kDrawnEpochs);
  Random random(options.seed, kDrawnStream);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    if (options.should_stop && options.should_stop()) break;
    (void)run_epoch(trainee, order, random, epoch, options);
  }
  return trainee.model();
}

}  // namespace neuroshard::training
