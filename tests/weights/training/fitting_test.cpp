// Which recipe makes models of samples.
#include "neuroshard/fitting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "message_of.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/weights.h"
#include "numbers.h"
#include "weights/collection/collect_samples.h"
#include "weights/training/golden_samples.h"

namespace neuroshard {
namespace {

using testing::analytic_samples;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kGib;
using testing::message_of;

FitOptions few_epochs() {
  FitOptions options;
  options.most_epochs = NEUROSHARD_SANITIZED ? 10 : 30;
  return options;
}

std::vector<Recipe> tried(const Fit& fit) {
  std::vector<Recipe> recipes;
  for (const RecipeTrial& trial : fit.trials) recipes.push_back(trial.recipe);
  return recipes;
}

float predicted_ms(const ComputeModel& model, const ComputeSamples& samples, std::size_t sample) {
  const auto backend =
      make_cpu_backend({.compute = model, .dense_comm = {}, .symmetric_comm = {}, .metadata = {}});
  return evaluate_compute(*backend, samples).predicted_ms[sample];
}

TEST(FitCompute, ScalesAMachineThatDiffersByAFactor) {
  const ComputeModel& start = builtin_weights("a100").compute;
  ComputeSamples samples = analytic_samples("a100-sxm-80gb", 40, 9);
  const auto backend =
      make_cpu_backend({.compute = start, .dense_comm = {}, .symmetric_comm = {}, .metadata = {}});
  const std::vector<float> predicted = evaluate_compute(*backend, samples).predicted_ms;
  for (std::size_t i = 0; i < samples.size(); ++i) samples.cost_ms[i] = 3.0F * predicted[i];
  const FittedCompute fitted = fit_compute(&start, samples, few_epochs());
  EXPECT_EQ(fitted.fit.recipe, Recipe::kScaled);
  EXPECT_THAT(tried(fitted.fit),
              ElementsAre(Recipe::kScaled, Recipe::kCalibrated, Recipe::kTrained));
  EXPECT_LT(fitted.fit.summary.tests.at(0).accuracy.mape, 1e-3);
  EXPECT_NEAR(predicted_ms(fitted.model, samples, 7), samples.cost_ms[7],
              1e-4F * samples.cost_ms[7]);
}

TEST(FitCompute, CalibratesAMachineOfAnotherKind) {
  const ComputeSamples samples = analytic_samples("h100-sxm-80gb", 60, 5);
  const FittedCompute fitted = fit_compute(&builtin_weights("a100").compute, samples, few_epochs());
  EXPECT_EQ(fitted.fit.recipe, Recipe::kCalibrated);
  EXPECT_LT(fitted.fit.summary.tests.at(0).accuracy.mape, 0.05);
}

TEST(FitCompute, WithoutAStartItTrainsAnew) {
  ComputeSamples samples = analytic_samples("a100-sxm-80gb", 60, 5);
  const FittedCompute fitted = fit_compute(nullptr, samples);
  EXPECT_EQ(fitted.fit.recipe, Recipe::kTrained);
  EXPECT_TRUE(fitted.model.any_batch());
  EXPECT_EQ(fitted.fit.summary.tests.at(0).accuracy.costs, samples.size());
  EXPECT_LT(fitted.fit.summary.tests.at(0).accuracy.mape, 0.3);
}

// Whatever the recipe: what contradicts itself is predicted badly where it was held back.
TEST(FitCompute, SeesThatHalfOfTheSamplesAreOff) {
  ComputeSamples samples = analytic_samples("a100-sxm-80gb", 60, 5);
  for (std::size_t i = 0; i < samples.size(); i += 2) samples.cost_ms[i] *= 10.0F;
  const FittedCompute fitted = fit_compute(&builtin_weights("a100").compute, samples, few_epochs());
  EXPECT_GT(fitted.fit.summary.tests.at(0).accuracy.mape, 0.4);
}

TEST(FitComm, ChoosesForEachPass) {
  const auto source =
      make_analytic_comm_source(network_named("a100-nvlink3-hdr"), kDefaultBatchSize);
  std::vector<CommSamples> samples{
      drawn_comm_samples(*source, {.devices = 8, .wide = true}, 40, 1)};
  CommModel start = *builtin_weights("a100").symmetric_comm;
  // As the start says, but for a factor.
  CostModels models = builtin_weights("a100");
  const auto backend = make_cpu_backend(models);
  samples[0].forward_ms = evaluate_comm(*backend, samples[0]).forward.predicted_ms;
  for (float& cost_ms : samples[0].forward_ms) cost_ms *= 2.0F;
  // Nothing that a factor gives: a time for each device besides.
  for (float& cost_ms : samples[0].backward_ms) cost_ms += 3.0F;
  const FittedComm fitted = fit_comm(&start, samples);
  EXPECT_EQ(fitted.forward.recipe, Recipe::kScaled);
  EXPECT_NE(fitted.backward.recipe, Recipe::kScaled);
  EXPECT_LT(fitted.backward.summary.tests.at(0).accuracy.mape, 0.1);
  EXPECT_EQ(fitted.backward.summary.tests.at(0).devices, 8);
}

CollectiveSamples all_reduces(double latency_ms, double ms_per_gib) {
  CollectiveSamples samples;
  for (int i = 0; i < 30; ++i) {
    samples.devices.push_back(4);
    samples.bytes.push_back(kGib / (1 << (i % 10)));
    samples.cost_ms.push_back(
        static_cast<float>(latency_ms + ms_per_gib * samples.bytes.back() / kGib));
  }
  return samples;
}

TEST(FitCollective, ScalesOrFitsLines) {
  const CollectiveModel start{.lines = {{4, {1.0, 10.0}}, {8, {2.0, 16.0}}}};
  const FittedCollective scaled = fit_collective(&start, all_reduces(3.0, 30.0));
  EXPECT_EQ(scaled.fit.recipe, Recipe::kScaled);
  EXPECT_NEAR(scaled.model.lines.at(4).latency_ms, 3.0, 1e-4);
  EXPECT_NEAR(scaled.model.lines.at(8).ms_per_gib, 48.0, 1e-2);
  const FittedCollective lines = fit_collective(&start, all_reduces(0.5, 40.0));
  EXPECT_EQ(lines.fit.recipe, Recipe::kTrained);
  EXPECT_NEAR(lines.model.lines.at(4).latency_ms, 0.5, 1e-3);
  EXPECT_TRUE(lines.model.lines.contains(8));
  EXPECT_EQ(fit_collective(nullptr, all_reduces(3.0, 30.0)).fit.recipe, Recipe::kTrained);
}

TEST(Fit, RefusesFewSamples) {
  const ComputeModel& start = builtin_weights("a100").compute;
  EXPECT_THAT(
      message_of([&] { (void)fit_compute(&start, analytic_samples("a100-sxm-80gb", 19, 1)); }),
      HasSubstr("19 compute samples; give at least 20"));
  CollectiveSamples few = all_reduces(1.0, 1.0);
  few.devices.resize(19);
  few.bytes.resize(19);
  few.cost_ms.resize(19);
  EXPECT_THAT(message_of([&] { (void)fit_collective(nullptr, few); }),
              HasSubstr("4 devices: there are 19; give at least 20"));
}

TEST(Fit, AStopKeepsTheBestRecipeThatIsThrough) {
  const ComputeSamples samples = analytic_samples("h100-sxm-80gb", 40, 5);
  FitOptions options = few_epochs();
  bool anew = false;
  options.on_epoch = [&](const EpochReport& report) { anew = report.network == "compute (anew)"; };
  options.should_stop = [&] { return anew; };
  const FittedCompute fitted = fit_compute(&builtin_weights("a100").compute, samples, options);
  EXPECT_TRUE(anew);
  EXPECT_TRUE(fitted.fit.summary.stopped);
  EXPECT_EQ(fitted.fit.recipe, Recipe::kCalibrated);
}

TEST(NearestHardware, IsTheOneThatTheSamplesAreOf) {
  EXPECT_EQ(nearest_hardware(analytic_samples("h100-sxm-80gb", 100, 3)), "h100");
  EXPECT_EQ(nearest_hardware(analytic_samples("a100-sxm-80gb", 100, 3)), "a100");
}

}  // namespace
}  // namespace neuroshard
