// Models of one machine fitted to few samples of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/training.h"
#include "neuroshard/weights.h"
#include "weights/collection/collect_samples.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/golden_samples.h"
#include "weights/training/start_scale.h"
#include "weights/training/training_backend.h"

namespace neuroshard {
namespace {

using testing::analytic_samples;
using testing::golden_compute_samples;
using ::testing::HasSubstr;
using testing::message_of;

constexpr bool kQuick = NEUROSHARD_SANITIZED != 0;

CommSamples analytic_comm_samples(std::string_view network, int devices, std::size_t count,
                                  std::uint64_t seed) {
  const auto source = make_analytic_comm_source(network_named(network), kDefaultBatchSize);
  return drawn_comm_samples(*source, {.devices = devices, .wide = true}, count, seed);
}

TestResult evaluated(const ComputeModel& model, const ComputeSamples& samples) {
  const auto backend =
      make_cpu_backend({.compute = model, .dense_comm = {}, .symmetric_comm = {}, .metadata = {}});
  return evaluate_compute(*backend, samples);
}

std::string bytes_of(const ComputeModel& model) {
  return serialize_weights(
      {.compute = model, .dense_comm = {}, .symmetric_comm = {}, .metadata = {}});
}

class NeverAskedBackend : public TrainingBackend {
 public:
  [[nodiscard]] std::unique_ptr<training::Trainee> take_over(training::CpuTrainee&,
                                                             std::size_t) const override {
    ADD_FAILURE() << "calibration asked a backend";
    return nullptr;
  }
};

TEST(StartScale, TheFactorIsTheMedianRatioOfPositiveCosts) {
  const std::vector<float> measured{2.0F, 30.0F, 0.0F, 5.0F, 6.0F};
  const std::vector<float> predicted{1.0F, 10.0F, 1.0F, -1.0F, 1.0F};
  EXPECT_EQ(training::fitted_factor(measured, predicted), 3.0F);
  EXPECT_EQ(training::fitted_factor(std::vector<float>{1.0F}, std::vector<float>{0.0F}), 1.0F);
}

TEST(CalibrateCompute, FitsAnotherMachineToFewSamples) {
  const ComputeModel& a100 = builtin_weights("a100").compute;
  const ComputeSamples few = analytic_samples("h100-sxm-80gb", kQuick ? 60 : 150, 5);
  const ComputeSamples unseen = analytic_samples("h100-sxm-80gb", 400, 6);
  TrainingOptions options = calibration_options();
  if (kQuick) options.epochs = 30;
  const TrainedCompute trained = calibrate_compute(a100, few, options);
  EXPECT_GT(evaluated(a100, unseen).accuracy.mape, 0.3);
  const double mape = evaluated(trained.model, unseen).accuracy.mape;
  EXPECT_LT(mape, kQuick ? 0.10 : 0.03);
  // Its own figures are of samples that were not seen, and near to the truth.
  ASSERT_EQ(trained.summary.tests.size(), 1U);
  EXPECT_EQ(trained.summary.tests[0].accuracy.costs, few.size());
  EXPECT_LT(trained.summary.tests[0].accuracy.mape, 2.0 * mape);
  EXPECT_GT(trained.summary.tests[0].accuracy.mape, 0.5 * mape);
  EXPECT_GT(trained.summary.best_epoch, 0);
}

// A machine whose operators cost something for each table, however little is looked up: no factor
// of what GPUs cost gives that.
ComputeSamples of_other_kind(ComputeSamples samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto tables = static_cast<float>(samples.offsets[i + 1] - samples.offsets[i]);
    samples.cost_ms[i] = 10.0F * samples.cost_ms[i] + 2.0F * tables;
  }
  return samples;
}

TEST(CalibrateCompute, FitsAMachineThatIsUnlike) {
  const ComputeSamples few = of_other_kind(analytic_samples("a100-sxm-80gb", kQuick ? 60 : 150, 5));
  const ComputeSamples unseen = of_other_kind(analytic_samples("a100-sxm-80gb", 400, 6));
  TrainingOptions options = calibration_options();
  options.epochs = kQuick ? 10 : 20;
  const ComputeModel& a100 = builtin_weights("a100").compute;
  EXPECT_LT(evaluated(calibrate_compute(a100, few, options).model, unseen).accuracy.mape,
            kQuick ? 0.25 : 0.12);
}

// Published features, biases in the table network.
TEST(CalibrateCompute, FitsPublishedModelsToo) {
  const ComputeModel start = load_compute_checkpoint(testing::golden_path("models/compute.pt"));
  const ComputeSamples few = analytic_samples("h100-sxm-80gb", 150, 7);
  const ComputeSamples unseen = analytic_samples("h100-sxm-80gb", 200, 8);
  TrainingOptions options = calibration_options();
  if (kQuick) options.epochs = 40;
  const TrainedCompute trained = calibrate_compute(start, few, options);
  EXPECT_FALSE(trained.model.any_batch());
  EXPECT_LT(evaluated(trained.model, unseen).accuracy.mape,
            0.5 * evaluated(start, unseen).accuracy.mape);
}

TEST(CalibrateCompute, CostsInProportionNeedNoTraining) {
  const ComputeModel& start = builtin_weights("a100").compute;
  ComputeSamples samples = analytic_samples("a100-sxm-80gb", 40, 9);
  const std::vector<float> predicted = evaluated(start, samples).predicted_ms;
  for (std::size_t i = 0; i < samples.size(); ++i) samples.cost_ms[i] = 3.0F * predicted[i];
  TrainingOptions options = calibration_options();
  options.epochs = 5;
  const TrainedCompute trained = calibrate_compute(start, samples, options);
  EXPECT_EQ(trained.summary.best_epoch, 0);
  const TestResult result = evaluated(trained.model, samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_NEAR(result.predicted_ms[i], samples.cost_ms[i], 1e-4F * samples.cost_ms[i]);
  }
}

// A weight is what it was, times a number of its input and one of its output.
TEST(CalibrateCompute, TrainsGainsOfInputsAndUnits) {
  const ComputeModel& start = builtin_weights("a100").compute;
  const ComputeSamples samples = analytic_samples("h100-sxm-80gb", 40, 10);
  TrainingOptions options = calibration_options();
  options.epochs = kQuick ? 5 : 20;
  const ComputeModel trained = calibrate_compute(start, samples, options).model;
  const auto ratio = [](const DenseLayer& before, const DenseLayer& after, int output, int input) {
    const auto at = static_cast<std::size_t>(output * before.inputs + input);
    return std::abs(before.weight[at]) < 1e-3F ? std::nan("")
                                               : after.weight[at] / before.weight[at];
  };
  int compared = 0;
  int changed = 0;
  for (const auto& [before, after] :
       {std::pair{start.table_network.layers[0], trained.table_network.layers[0]},
        std::pair{start.head.layers[0], trained.head.layers[0]}}) {
    for (int o = 1; o < before.outputs; ++o) {
      for (int i = 1; i < before.inputs; ++i) {
        const double a = ratio(before, after, 0, 0) * ratio(before, after, o, i);
        const double b = ratio(before, after, o, 0) * ratio(before, after, 0, i);
        if (std::isnan(a) || std::isnan(b)) continue;
        EXPECT_NEAR(a, b, 1e-4);
        ++compared;
        changed += std::abs(ratio(before, after, o, i) - 1.0) > 1e-4 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(changed, compared / 2);
  EXPECT_EQ(trained.table_network.layers[1].weight, start.table_network.layers[1].weight);
}

TEST(CalibrateCompute, GivesTheSameBitsForEveryNumberOfThreads) {
  const ComputeModel& start = builtin_weights("a100").compute;
  const ComputeSamples samples = analytic_samples("h100-sxm-80gb", 50, 11);
  TrainingOptions options = calibration_options();
  options.epochs = kQuick ? 2 : 4;
  options.threads = 1;
  const std::string one = bytes_of(calibrate_compute(start, samples, options).model);
  options.threads = 3;
  EXPECT_EQ(bytes_of(calibrate_compute(start, samples, options).model), one);
  options.seed = 1;
  EXPECT_NE(bytes_of(calibrate_compute(start, samples, options).model), one);
}

TEST(CalibrateCompute, StopsWhenAskedAndKeepsTheBestSoFar) {
  const ComputeSamples samples = analytic_samples("h100-sxm-80gb", 50, 12);
  TrainingOptions options = calibration_options();
  int asked = 0;
  options.should_stop = [&] { return ++asked == 4; };  // First before any training.
  std::vector<double> losses;
  options.on_epoch = [&](const EpochReport& report) { losses.push_back(report.valid_loss); };
  const TrainingSummary summary =
      calibrate_compute(builtin_weights("a100").compute, samples, options).summary;
  EXPECT_TRUE(summary.stopped);
  EXPECT_EQ(summary.epochs, 3);
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_LE(summary.valid_loss, *std::ranges::min_element(losses));
}

TEST(CalibrateCompute, AStopInTheSecondStartKeepsTheFirst) {
  const ComputeModel& start = builtin_weights("a100").compute;
  const ComputeSamples samples = of_other_kind(analytic_samples("a100-sxm-80gb", 40, 5));
  TrainingOptions options = calibration_options();
  options.epochs = 3;
  double first_loss = 0.0;
  bool is_first_done = false;
  int asked = 0;
  options.on_epoch = [&](const EpochReport& report) {
    EXPECT_EQ(report.network, "compute");
    first_loss = report.best_valid_loss;
    is_first_done = report.epoch == report.epochs;
  };
  // True once, in the making of the second start: the first asks once more after its last epoch.
  options.should_stop = [&] { return is_first_done && ++asked == 5; };
  const TrainingSummary summary = calibrate_compute(start, samples, options).summary;
  EXPECT_EQ(asked, 5);
  EXPECT_TRUE(summary.stopped);
  EXPECT_EQ(summary.epochs, 3);
  EXPECT_EQ(summary.valid_loss, first_loss);
}

// Its start would be worse than those of the five models that the errors are of.
TEST(CalibrateCompute, AStopInTheTrainingOfTheResultChangesNothing) {
  const ComputeModel& start = builtin_weights("a100").compute;
  const ComputeSamples samples = of_other_kind(analytic_samples("a100-sxm-80gb", 40, 5));
  TrainingOptions options = calibration_options();
  options.epochs = 5;
  std::map<std::string, double> losses;
  options.on_epoch = [&](const EpochReport& report) {
    losses[report.network] = report.best_valid_loss;
  };
  const std::string whole = bytes_of(calibrate_compute(start, samples, options).model);
  ASSERT_EQ(losses.size(), 2U);
  ASSERT_LT(losses.at("compute (second start)"), losses.at("compute"));
  bool is_last_epoch = false;
  int asked = 0;
  options.on_epoch = [&](const EpochReport& report) {
    is_last_epoch = report.network != "compute" && report.epoch == report.epochs;
  };
  // The cross-validation asks once more after its last epoch.
  options.should_stop = [&] { return is_last_epoch && ++asked > 1; };
  const TrainedCompute trained = calibrate_compute(start, samples, options);
  EXPECT_TRUE(is_last_epoch);
  EXPECT_EQ(bytes_of(trained.model), whole);
  EXPECT_FALSE(trained.summary.stopped);
  EXPECT_EQ(trained.summary.network, "compute");
}

// Few steps at such a rate leave such costs finite, the many of the second start do not.
TEST(CalibrateCompute, KeepsTheFirstStartIfTheSecondIsNotFinite) {
  ComputeSamples samples = analytic_samples("h100-sxm-80gb", 20, 5);
  for (float& cost_ms : samples.cost_ms) cost_ms *= 1e35F;
  TrainingOptions options = calibration_options();
  options.epochs = 1;
  options.learning_rate = 1.0;
  std::vector<std::string> networks;
  options.on_epoch = [&](const EpochReport& report) { networks.push_back(report.network); };
  const TrainedCompute trained =
      calibrate_compute(builtin_weights("a100").compute, samples, options);
  EXPECT_THAT(networks, ::testing::ElementsAre("compute"));
  EXPECT_EQ(trained.summary.network, "compute");
  EXPECT_EQ(trained.summary.epochs, 1);
  EXPECT_TRUE(std::isfinite(trained.summary.valid_loss));
}

TEST(CalibrateComm, FitsAnotherNetworkToFewSamples) {
  const std::size_t count = kQuick ? 30 : 60;
  const std::vector<CommSamples> few{analytic_comm_samples("h100-nvlink4-ndr", 8, count, 1),
                                     analytic_comm_samples("h100-nvlink4-ndr", 16, count, 2)};
  TrainingOptions options = calibration_options();
  if (kQuick) options.epochs = 60;
  CostModels models = builtin_weights("a100");
  const TrainedComm trained = calibrate_comm(*models.symmetric_comm, few, options);
  ASSERT_EQ(trained.forward.tests.size(), 2U);
  EXPECT_EQ(trained.forward.tests[1].devices, 16);
  EXPECT_EQ(trained.forward.tests[1].accuracy.costs, 16 * count);
  const auto before = make_cpu_backend(models);
  models.symmetric_comm = trained.model;
  const auto after = make_cpu_backend(models);
  for (const int devices : {8, 16}) {
    SCOPED_TRACE(devices);
    const CommSamples unseen = analytic_comm_samples("h100-nvlink4-ndr", devices, 200, 3);
    const CommTestResult was = evaluate_comm(*before, unseen);
    const CommTestResult is = evaluate_comm(*after, unseen);
    EXPECT_GT(was.forward.accuracy.mape, 0.15);
    EXPECT_LT(is.forward.accuracy.mape, kQuick ? 0.12 : 0.05);
    EXPECT_LT(is.backward.accuracy.mape, kQuick ? 0.12 : 0.05);
  }
}

TEST(Calibration, SaysWhatIsWrongWithItsInput) {
  const ComputeModel& start = builtin_weights("a100").compute;
  EXPECT_THAT(
      message_of([&] { (void)calibrate_compute(start, analytic_samples("a100-sxm-80gb", 19, 1)); }),
      HasSubstr("19 compute samples; give at least 20"));
  ComputeSamples served = analytic_samples("a100-sxm-80gb", 20, 1);
  served.served.assign(served.size(), 4096);
  EXPECT_THAT(message_of([&] {
                (void)calibrate_compute(
                    load_compute_checkpoint(testing::golden_path("models/compute.pt")), served);
              }),
              HasSubstr("is of 4096 samples"));
  const auto with_options = [&](const auto& change) {
    TrainingOptions options = calibration_options();
    change(options);
    return message_of(
        [&] { (void)calibrate_compute(start, analytic_samples("a100-sxm-80gb", 20, 1), options); });
  };
  EXPECT_THAT(with_options([](TrainingOptions& o) { o.epochs = 0; }), HasSubstr("epochs is 0"));
  EXPECT_THAT(with_options([](TrainingOptions& o) { o.resume_from = "x"; }),
              HasSubstr("keeps no state"));
  EXPECT_THAT(with_options([](TrainingOptions& o) {
                o.backend = std::make_shared<const NeverAskedBackend>();
              }),
              HasSubstr("leave out backend"));
  const std::vector<CommSamples> few{analytic_comm_samples("a100-nvlink3-hdr", 4, 10, 1)};
  EXPECT_THAT(
      message_of([&] { (void)calibrate_comm(*builtin_weights("a100").symmetric_comm, few); }),
      HasSubstr("10 communication samples; give at least 20"));
  EXPECT_THAT(
      message_of([&] { (void)calibrate_comm(testing::golden_models().dense_comm.at(4), few); }),
      HasSubstr("of one device count"));
  TrainingOptions elsewhere = calibration_options();
  elsewhere.backend = std::make_shared<const NeverAskedBackend>();
  const std::vector<CommSamples> enough{analytic_comm_samples("a100-nvlink3-hdr", 4, 20, 1)};
  EXPECT_THAT(message_of([&] {
                (void)calibrate_comm(*builtin_weights("a100").symmetric_comm, enough, elsewhere);
              }),
              HasSubstr("leave out backend"));
}

}  // namespace
}  // namespace neuroshard
