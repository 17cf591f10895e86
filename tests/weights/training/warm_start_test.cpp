#include "weights/training/warm_start.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "neuroshard/backend.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/weights.h"
#include "weights/training/golden_samples.h"

namespace neuroshard::training {
namespace {

using neuroshard::testing::analytic_samples;

TrainingOptions few_epochs() {
  TrainingOptions options = calibration_options();
  options.epochs = 6;
  options.threads = 1;
  return options;
}

double mape_on(const ComputeModel& model, const ComputeSamples& samples) {
  CostModels models = builtin_weights("a100");
  models.compute = model;
  return evaluate_compute(*make_cpu_backend(models), samples).accuracy.mape;
}

TEST(WarmStart, LossIsThatOfTheStartScaled) {
  const ComputeModel& a100 = builtin_weights("a100").compute;
  EXPECT_LT(loss_of_start(a100, analytic_samples("a100", 100, 1), few_epochs()), 0.001);
  EXPECT_GT(loss_of_start(a100, analytic_samples("t4", 100, 1), few_epochs()),
            5.0 * loss_of_start(a100, analytic_samples("a100", 100, 1), few_epochs()));
}

TEST(WarmStart, LearnsAnotherMachine) {
  const ComputeModel& a100 = builtin_weights("a100").compute;
  const ComputeSamples samples = analytic_samples("t4", 600, 1);
  const ComputeSamples unseen = analytic_samples("t4", 200, 2);
  TrainingOptions none = few_epochs();
  none.epochs = 0;
  const double scaled = mape_on(trained_from(a100, samples, none), unseen);
  const double trained = mape_on(trained_from(a100, samples, few_epochs()), unseen);
  EXPECT_LT(scaled, 0.3);  // One factor; 80 % before.
  EXPECT_LT(trained, 0.5 * scaled);
  EXPECT_LT(trained, 0.05);
}

TEST(WarmStart, GivesTheSameModelWhateverTheThreads) {
  const ComputeModel& a100 = builtin_weights("a100").compute;
  const ComputeSamples samples = analytic_samples("l40s", 150, 1);
  TrainingOptions two = few_epochs();
  two.threads = 2;
  CostModels one_thread = builtin_weights("a100");
  CostModels two_threads = builtin_weights("a100");
  one_thread.compute = trained_from(a100, samples, few_epochs());
  two_threads.compute = trained_from(a100, samples, two);
  EXPECT_EQ(serialize_weights(one_thread), serialize_weights(two_threads));
}

}  // namespace
}  // namespace neuroshard::training
