#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "neuroshard/error.h"
#include "neuroshard/training.h"
#include "weights/training/calibration.h"
#include "weights/training/comm_trainee.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/linear_cost.h"

namespace neuroshard {
namespace {

constexpr std::uint64_t kPartsStream = 5;  // Of a seed; train_models.cpp has the others.
constexpr std::uint64_t kDrawnStream = 8;
constexpr std::size_t kDrawnOperators = 1500;
constexpr int kDrawnEpochs = 60;
constexpr const char* kCompute = "compute";
constexpr const char* kSecondStart = "compute (second start)";

std::vector<std::uint32_t> shuffled_samples(std::size_t count, const std::string& what,
                                            const TrainingOptions& options) {
  if (count < training::Calibration::kFewestSamples) {
    throw Error("calibration data: " + std::to_string(count) + " " + what + "; give at least " +
                std::to_string(training::Calibration::kFewestSamples) + ", better 100");
  }
  if (options.on_state || !options.resume_from.empty()) {
    throw Error("calibration takes seconds and keeps no state; leave out on_state and resume_from");
  }
  if (options.backend) {
    throw Error("calibration takes seconds and runs on the CPU; leave out backend");
  }
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  Random random(options.seed, kPartsStream);
  training::shuffle(std::span(all), random);
  return all;
}

/// What each sample cost and was predicted to, by device count (0: compute cost).
class HeldOutCosts {
 public:
  void add(int devices, std::span<const float> measured_ms, std::span<const float> predicted_ms) {
    TestResult& test = by_devices_[devices];
    test.devices = devices;
    test.measured_ms.insert(test.measured_ms.end(), measured_ms.begin(), measured_ms.end());
    test.predicted_ms.insert(test.predicted_ms.end(), predicted_ms.begin(), predicted_ms.end());
  }
  [[nodiscard]] std::vector<TestResult> results() {
    std::vector<TestResult> results;
    for (auto& [devices, test] : by_devices_) {
      test.accuracy = measure_accuracy(test.measured_ms, test.predicted_ms);
      results.push_back(std::move(test));
    }
    return results;
  }

 private:
  std::map<int, TestResult> by_devices_;
};

/// The start, calibrated to operators that are drawn at costs of a linear fit to the samples
/// `used`: a sum of few terms knows machines better that are unlike the start's.
ComputeModel linear_start(const ComputeModel& start, const ComputeSamples& samples,
                          std::span<const std::uint32_t> used, TrainingOptions options,
                          ThreadTeam& team) {
  const ComputeSamples drawn =
      training::drawn_operators(samples, used, kDrawnOperators, options.seed);
  std::vector<std::uint32_t> order(drawn.size());
  std::iota(order.begin(), order.end(), 0U);
  training::ComputeTrainee trainee(drawn, order, start, options, training::best_matrix_kernels(),
                                   team);
  options.epochs = std::min(options.epochs, kDrawnEpochs);
  Random random(options.seed, kDrawnStream);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    if (options.should_stop && options.should_stop()) break;
    (void)training::run_epoch(trainee, order, random, epoch, options);
  }
  return trainee.model();
}

CommNetwork calibrate_pass(const CommNetwork& start, std::span<const CommSamples> samples,
                           training::CommPass pass, const TrainingOptions& options,
                           ThreadTeam& team, TrainingSummary& summary) {
  const std::string name = pass == training::CommPass::kForward ? "forward" : "backward";
  const auto* const symmetric = std::get_if<SymmetricCommNetwork>(&start);
  if (symmetric == nullptr) {
    throw Error("calibration: the " + name +
                " network is of one device count; give weights with a symmetric one");
  }
  const training::CommRows rows(samples, CommArchitecture::kSymmetric, pass);
  training::Calibration calibration(
      [&](std::span<const std::uint32_t> used) {
        return std::make_unique<training::CommTrainee>(rows, used, *symmetric, options.loss,
                                                       training::best_matrix_kernels(), team);
      },
      shuffled_samples(rows.samples(), "communication samples", options), name, options);
  calibration.cross_validate();
  const auto trainee = calibration.train();
  summary = calibration.summary();
  HeldOutCosts held_out;
  std::span<const float> predicted = calibration.predicted_ms();
  for (const std::uint32_t sample : calibration.samples()) {
    const std::span<const float> measured = rows.targets(sample);
    held_out.add(rows.devices(sample), measured, predicted.first(measured.size()));
    predicted = predicted.subspan(measured.size());
  }
  summary.tests = held_out.results();
  return static_cast<training::CommTrainee&>(*trainee).network();
}

}  // namespace

TrainingOptions calibration_options() {
  TrainingOptions options;
  options.epochs = 200;
  options.batch = 16;
  options.loss = TrainingLoss::kRelative;
  options.learning_rate = 4e-3;
  return options;
}

TrainedCompute calibrate_compute(const ComputeModel& start, const ComputeSamples& samples,
                                 const TrainingOptions& options) {
  training::validate(options);
  validate(start, "calibration");
  ThreadTeam team(options.threads);
  // Of which the calibrations take should_stop. Once true, it stays so: linear_start() asks, too.
  TrainingOptions until_stopped = options;
  bool stopped = false;
  if (options.should_stop) {
    until_stopped.should_stop = [&] { return stopped = stopped || options.should_stop(); };
  }
  const auto cross_validated = [&](bool from_linear) {
    auto calibration = std::make_unique<training::Calibration>(
        [&, from_linear](std::span<const std::uint32_t> used) {
          return std::make_unique<training::ComputeTrainee>(
              samples, used,
              from_linear ? linear_start(start, samples, used, until_stopped, team) : start,
              options, training::best_matrix_kernels(), team);
        },
        shuffled_samples(samples.size(), "compute samples", options),
        from_linear ? kSecondStart : kCompute, until_stopped);
    calibration->cross_validate();
    return calibration;
  };
  auto calibration = cross_validated(false);
  if (start.any_batch() && !stopped) {
    try {
      auto other = cross_validated(true);
      const bool is_better = other->summary().valid_loss < calibration->summary().valid_loss;
      if (is_better && !stopped) calibration = std::move(other);
    } catch (const Error& error) {
      // The rate may be too high for this start alone. The samples were good enough for the first.
      if (error.kind() != ErrorKind::kInvalidInput) throw;
    }
  }
  // The last trainee needs all of its epochs: the errors are those of such trainees.
  until_stopped.should_stop = nullptr;
  const auto trainee = calibration->train();
  TrainedCompute trained{static_cast<training::ComputeTrainee&>(*trainee).model(),
                         calibration->summary()};
  trained.summary.network = kCompute;
  trained.summary.stopped = stopped;
  std::vector<float> measured_ms;
  for (const std::uint32_t sample : calibration->samples()) {
    measured_ms.push_back(samples.cost_ms[sample]);
  }
  HeldOutCosts held_out;
  held_out.add(0, measured_ms, calibration->predicted_ms());
  trained.summary.tests = held_out.results();
  return trained;
}

TrainedComm calibrate_comm(const CommModel& start, std::span<const CommSamples> samples,
                           const TrainingOptions& options) {
  training::validate(options);
  ThreadTeam team(options.threads);
  TrainedComm trained;
  trained.model.forward = calibrate_pass(start.forward, samples, training::CommPass::kForward,
                                         options, team, trained.forward);
  trained.model.backward = calibrate_pass(start.backward, samples, training::CommPass::kBackward,
                                          options, team, trained.backward);
  return trained;
}

}  // namespace neuroshard
