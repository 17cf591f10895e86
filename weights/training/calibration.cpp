#include "weights/training/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "neuroshard/error.h"

namespace neuroshard::training {

double run_epoch(CpuTrainee& trainee, std::vector<std::uint32_t>& order, Random& random, int epoch,
                 const TrainingOptions& options) {
  shuffle(std::span(order), random);
  const auto batch = static_cast<std::size_t>(options.batch);
  double loss = 0.0;
  for (std::size_t done = 0; done < order.size(); done += batch) {
    const std::size_t count = std::min(batch, order.size() - done);
    const double progress =
        (epoch + static_cast<double>(done) / static_cast<double>(order.size())) / options.epochs;
    loss += static_cast<double>(count) * trainee.step(std::span(order).subspan(done, count),
                                                      learning_rate_at(options, progress));
  }
  return loss;
}

Calibration::Calibration(MakeTrainee make, std::vector<std::uint32_t> samples, std::string network,
                         const TrainingOptions& options)
    : make_(std::move(make)), samples_(std::move(samples)), options_(options) {
  summary_.network = std::move(network);
  summary_.train_samples = samples_.size();
  summary_.valid_samples = samples_.size();
  summary_.test_samples = samples_.size();
  summary_.valid_loss = std::numeric_limits<double>::infinity();
}

std::span<const std::uint32_t> Calibration::part(std::size_t index) const {
  const std::size_t first = samples_.size() * index / kParts;
  const std::size_t last = samples_.size() * (index + 1) / kParts;
  return std::span(samples_).subspan(first, last - first);
}

void Calibration::cross_validate() {
  const auto begin = std::chrono::steady_clock::now();
  struct Fold {
    std::vector<std::uint32_t> order;
    std::unique_ptr<CpuTrainee> trainee;
    Random random;
  };
  std::vector<Fold> folds;
  for (std::size_t i = 0; i < kParts; ++i) {
    std::vector<std::uint32_t> order;
    for (std::size_t other = 0; other < kParts; ++other) {
      if (other == i) continue;
      order.insert(order.end(), part(other).begin(), part(other).end());
    }
    std::unique_ptr<CpuTrainee> trainee = make_(order);
    folds.push_back({std::move(order), std::move(trainee), Random(options_.seed, i)});
  }
  EpochReport report;
  report.network = summary_.network;
  report.epochs = options_.epochs;
  std::size_t trained = 0;
  std::vector<float> predicted_ms;  // In all parts, at the best epoch.
  for (report.epoch = 0; report.epoch <= options_.epochs; ++report.epoch) {
    report.train_loss = 0.0;
    report.valid_loss = 0.0;
    for (std::size_t i = 0; i < kParts; ++i) {
      Fold& fold = folds[i];
      if (report.epoch > 0) {
        report.train_loss +=
            run_epoch(*fold.trainee, fold.order, fold.random, report.epoch - 1, options_);
        trained += fold.order.size();
      }
      report.valid_loss += fold.trainee->mean_loss(part(i)) * static_cast<double>(part(i).size());
    }
    report.train_loss /= static_cast<double>((kParts - 1) * samples_.size());
    report.valid_loss /= static_cast<double>(samples_.size());
    if (!std::isfinite(report.valid_loss)) {
      throw Error("calibrating " + summary_.network + ": the error is no longer finite in epoch " +
                  std::to_string(report.epoch) + "; use a lower learning rate");
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (report.valid_loss < summary_.valid_loss) {
      summary_.valid_loss = report.valid_loss;
      summary_.best_epoch = report.epoch;
      predicted_ms.clear();
      for (std::size_t i = 0; i < kParts; ++i) {
        const std::vector<float> predicted = folds[i].trainee->predict(part(i));
        predicted_ms.insert(predicted_ms.end(), predicted.begin(), predicted.end());
      }
    }
    report.best_valid_loss = summary_.valid_loss;
    report.learning_rate =
        learning_rate_at(options_, static_cast<double>(report.epoch) / options_.epochs);
    summary_.epochs = report.epoch;
    summary_.seconds = report.seconds;
    if (options_.on_epoch && report.epoch > 0) options_.on_epoch(report);
    if (options_.should_stop && options_.should_stop()) {
      summary_.stopped = true;
      break;
    }
  }
  summary_.samples_per_second = static_cast<double>(trained) / summary_.seconds;
  summary_.tests = folds.front().trainee->tests(samples_, predicted_ms);
}

std::unique_ptr<CpuTrainee> Calibration::train() {
  std::unique_ptr<CpuTrainee> trainee = make_(samples_);
  std::vector<std::uint32_t> order = samples_;
  Random random(options_.seed, kParts);
  for (int epoch = 0; epoch < summary_.best_epoch; ++epoch) {
    (void)run_epoch(*trainee, order, random, epoch, options_);
  }
  return trainee;
}

}  // namespace neuroshard::training
