#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "neuroshard/error.h"
#include "neuroshard/training.h"

namespace neuroshard {
namespace {

constexpr std::size_t kTestedOneIn = 5;

/// Weighted least squares of latency + rate * GiB, neither of them negative.
class LineFit {
 public:
  void add(double gib, double cost_ms) {
    const double weight = 1.0 / (cost_ms * cost_ms);
    weights_ += weight;
    sizes_ += weight * gib;
    squares_ += weight * gib * gib;
    costs_ += weight * cost_ms;
    products_ += weight * gib * cost_ms;
  }

  /// Nothing can be said if all sizes are one.
  [[nodiscard]] bool has_line() const { return spread() > 1e-12 * weights_ * squares_; }

  [[nodiscard]] AllReduceModel::Line line() const {
    const double rate = (weights_ * products_ - sizes_ * costs_) / spread();
    const double latency = (costs_ - rate * sizes_) / weights_;
    if (latency < 0.0) return {0.0, products_ / squares_};
    if (rate < 0.0) return {costs_ / weights_, 0.0};
    return {latency, rate};
  }

 private:
  [[nodiscard]] double spread() const { return weights_ * squares_ - sizes_ * sizes_; }

  double weights_ = 0.0;
  double sizes_ = 0.0;
  double squares_ = 0.0;
  double costs_ = 0.0;
  double products_ = 0.0;
};

}  // namespace

TrainedAllReduce train_all_reduce(const AllReduceSamples& samples) {
  std::map<int, std::vector<std::size_t>> by_devices;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!(samples.cost_ms[i] > 0.0F)) {
      throw Error("all-reduce sample " + std::to_string(i) +
                  ": costs nothing; remove it or measure it again");
    }
    by_devices[samples.devices[i]].push_back(i);
  }
  if (by_devices.empty()) throw Error("there are no all-reduce samples; give at least 5");
  TrainedAllReduce trained;
  trained.summary.network = "all_reduce";
  for (const auto& [devices, all] : by_devices) {
    const std::string what = "all-reduce samples of " + std::to_string(devices) + " devices";
    if (all.size() < kTestedOneIn) {
      throw Error(what + ": there are " + std::to_string(all.size()) + "; give at least " +
                  std::to_string(kTestedOneIn));
    }
    LineFit fit;
    TestResult test{devices, {}, {}, {}};
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (k % kTestedOneIn == 0) continue;
      fit.add(samples.bytes[all[k]] / static_cast<double>(bytes_from_gib(1.0)),
              samples.cost_ms[all[k]]);
    }
    if (!fit.has_line()) throw Error(what + ": all are of one size; give several");
    trained.model.lines[devices] = fit.line();
    for (std::size_t k = 0; k < all.size(); k += kTestedOneIn) {
      test.measured_ms.push_back(samples.cost_ms[all[k]]);
      test.predicted_ms.push_back(
          static_cast<float>(trained.model.all_reduce_ms(devices, samples.bytes[all[k]])));
    }
    trained.summary.test_samples += test.measured_ms.size();
    trained.summary.train_samples += all.size() - test.measured_ms.size();
    test.accuracy = measure_accuracy(test.measured_ms, test.predicted_ms);
    trained.summary.tests.push_back(std::move(test));
  }
  // There is nothing to repeat: one pass is all.
  trained.summary.epochs = 1;
  trained.summary.best_epoch = 1;
  return trained;
}

}  // namespace neuroshard
