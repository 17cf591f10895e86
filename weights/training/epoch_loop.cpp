#include "weights/training/epoch_loop.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "neuroshard/error.h"

namespace neuroshard::training {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double learning_rate_at(const TrainingOptions& options, double progress) {
  const double remaining = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return options.final_learning_rate +
         remaining * (options.learning_rate - options.final_learning_rate);
}

}  // namespace

void deal_out(std::vector<std::uint32_t> samples, const std::string& what, Random& random,
              Split& split) {
  constexpr std::size_t kFewest = 10;
  if (samples.size() < kFewest) {
    throw Error("training data: " + std::to_string(samples.size()) + " " + what +
                "; give at least 10, so that training, validation and test get some each");
  }
  shuffle(std::span(samples), random);
  const std::size_t tenth = samples.size() / 10;
  const auto valid = samples.end() - static_cast<std::ptrdiff_t>(2 * tenth);
  const auto test = samples.end() - static_cast<std::ptrdiff_t>(tenth);
  split.train.insert(split.train.end(), samples.begin(), valid);
  split.valid.insert(split.valid.end(), valid, test);
  split.test.insert(split.test.end(), test, samples.end());
}

TrainingSummary run_epochs(Trainee& trainee, const Split& split, const std::string& network,
                           const TrainingOptions& options, Random& random) {
  const auto begin = std::chrono::steady_clock::now();
  TrainingSummary summary;
  summary.network = network;
  summary.train_samples = split.train.size();
  summary.valid_samples = split.valid.size();
  summary.test_samples = split.test.size();
  summary.valid_mse = std::numeric_limits<double>::infinity();

  std::vector<std::uint32_t> order = split.train;
  const std::size_t batch = static_cast<std::size_t>(options.batch);
  const std::size_t steps_per_epoch = (order.size() + batch - 1) / batch;
  const double steps = static_cast<double>(steps_per_epoch) * options.epochs;
  double steps_done = 0.0;
  std::size_t samples_done = 0;
  for (int epoch = 1; epoch <= options.epochs && !summary.stopped; ++epoch) {
    shuffle(std::span(order), random);
    EpochReport report{network, epoch, options.epochs};
    std::size_t in_epoch = 0;
    while (in_epoch < order.size() && !summary.stopped) {
      const std::size_t count = std::min(batch, order.size() - in_epoch);
      report.learning_rate = learning_rate_at(options, steps_done / steps);
      report.train_mse +=
          static_cast<double>(count) *
          trainee.step(std::span(order).subspan(in_epoch, count), report.learning_rate);
      in_epoch += count;
      steps_done += 1.0;
      summary.stopped = options.should_stop && options.should_stop();
    }
    report.train_mse /= static_cast<double>(in_epoch);
    samples_done += in_epoch;

    // Also after a part of an epoch: the best so far may be this one.
    report.valid_mse = trainee.mean_squared_error(split.valid);
    if (!std::isfinite(report.valid_mse)) {
      throw Error("training " + network + ": the error is no longer finite in epoch " +
                  std::to_string(epoch) + "; use a lower learning rate");
    }
    if (report.valid_mse < summary.valid_mse) {
      summary.valid_mse = report.valid_mse;
      summary.best_epoch = epoch;
      trainee.remember_weights();
    }
    if (in_epoch == order.size()) summary.epochs = epoch;
    report.best_valid_mse = summary.valid_mse;
    report.seconds = seconds_since(begin);
    if (options.on_epoch) options.on_epoch(report);
  }
  trainee.recall_weights();
  summary.seconds = seconds_since(begin);
  summary.samples_per_second = static_cast<double>(samples_done) / summary.seconds;
  return summary;
}

void validate(const TrainingOptions& options) {
  const auto check = [](bool ok, const std::string& message) {
    if (!ok) throw Error("training options: " + message);
  };
  const auto rate_ok = [](double rate) { return std::isfinite(rate) && rate > 0.0 && rate <= 1.0; };
  check(options.epochs >= 1, "epochs is " + std::to_string(options.epochs) + "; give at least 1");
  check(options.batch >= 1, "batch is " + std::to_string(options.batch) + "; give at least 1");
  check(rate_ok(options.learning_rate) && rate_ok(options.final_learning_rate),
        "a learning rate is not in (0, 1]; 0.001 is usual");
  check(options.threads >= 0 && options.threads <= 1024,
        "threads is " + std::to_string(options.threads) +
            "; give a number up to 1024, or 0 for one per core");
}

void validate_widths(std::span<const int> widths, const std::string& what) {
  constexpr int kWidest = 4096;
  if (widths.empty()) throw Error(what + ": give at least one layer width");
  for (const int width : widths) {
    if (width < 1 || width > kWidest) {
      throw Error(what + ": layer width " + std::to_string(width) + " is not between 1 and 4096");
    }
  }
}

}  // namespace neuroshard::training
