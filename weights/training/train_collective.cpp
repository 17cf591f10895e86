#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/tables/stated_gib.h"
#include "neuroshard/error.h"
#include "neuroshard/fitting.h"
#include "neuroshard/training.h"
#include "weights/training/calibration.h"
#include "weights/training/start_scale.h"

namespace neuroshard {
namespace {

constexpr std::size_t kTestedOneIn = 5;

/// As metadata name it.
std::string network_of(const CollectiveSamples& samples) {
  std::string name = samples.kind;
  std::ranges::replace(name, '-', '_');
  return name;
}

/// Weighted least squares of latency + rate * GiB, neither of them negative.
class LineFit {
 public:
  void add(double gib, double cost_ms, double importance) {
    const double weight = importance / (cost_ms * cost_ms);
    weights_ += weight;
    sizes_ += weight * gib;
    squares_ += weight * gib * gib;
    costs_ += weight * cost_ms;
    products_ += weight * gib * cost_ms;
  }

  /// Nothing can be said if all sizes are one.
  [[nodiscard]] bool has_line() const { return spread() > 1e-12 * weights_ * squares_; }

  [[nodiscard]] CollectiveModel::Line line() const {
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

/// Sample numbers by device count.
std::map<int, std::vector<std::size_t>> by_device_count(const CollectiveSamples& samples) {
  std::map<int, std::vector<std::size_t>> by_devices;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!(samples.cost_ms[i] > 0.0F)) {
      throw Error(samples.kind + " sample " + std::to_string(i) +
                  ": costs nothing; remove it or measure it again");
    }
    by_devices[samples.devices[i]].push_back(i);
  }
  if (by_devices.empty()) throw Error("there are no " + samples.kind + " samples; give at least 5");
  return by_devices;
}

/// The samples of a device count but for each fifth, from number `part` on.
std::vector<std::size_t> without_part(const std::vector<std::size_t>& all, std::size_t part) {
  std::vector<std::size_t> rest;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k % kTestedOneIn != part) rest.push_back(all[k]);
  }
  return rest;
}

/// Errors beyond a share of the cost count in proportion, not by their squares (Huber): where
/// ranks wait for processors a few samples are many times too long.
CollectiveModel::Line fitted_line(const CollectiveSamples& samples, int devices,
                                  const std::vector<std::size_t>& used) {
  constexpr double kFarOff = 0.1;
  constexpr int kFits = 20;
  std::vector<double> importances(used.size(), 1.0);
  CollectiveModel::Line line;
  for (int round = 0; round < kFits; ++round) {
    LineFit fit;
    for (std::size_t k = 0; k < used.size(); ++k) {
      fit.add(samples.bytes[used[k]] / kGib, samples.cost_ms[used[k]], importances[k]);
    }
    if (!fit.has_line()) {
      throw Error(samples.kind + " samples of " + std::to_string(devices) +
                  " devices: all are of one size; give several");
    }
    line = fit.line();
    const CollectiveModel model{{{devices, line}}};
    for (std::size_t k = 0; k < used.size(); ++k) {
      const double cost_ms = samples.cost_ms[used[k]];
      const double error = std::abs(model.cost_ms(devices, samples.bytes[used[k]]) / cost_ms - 1.0);
      importances[k] = error <= kFarOff ? 1.0 : kFarOff / error;
    }
  }
  return line;
}

CollectiveModel scaled_to(const CollectiveModel& start, const CollectiveSamples& samples,
                          const std::vector<std::size_t>& used) {
  std::vector<float> measured_ms;
  std::vector<float> predicted_ms;
  for (const std::size_t i : used) {
    measured_ms.push_back(samples.cost_ms[i]);
    predicted_ms.push_back(static_cast<float>(start.cost_ms(samples.devices[i], samples.bytes[i])));
  }
  const double factor = training::fitted_factor(measured_ms, predicted_ms);
  CollectiveModel scaled = start;
  for (auto& [devices, line] : scaled.lines) {
    line.latency_ms *= factor;
    line.ms_per_gib *= factor;
  }
  return scaled;
}

/// Predictions of `model` for the samples of each fifth, from number `part` on.
void predict_part(const CollectiveModel& model, const CollectiveSamples& samples,
                  const std::vector<std::size_t>& all, std::size_t part, TestResult& test) {
  for (std::size_t k = part; k < all.size(); k += kTestedOneIn) {
    test.measured_ms.push_back(samples.cost_ms[all[k]]);
    test.predicted_ms.push_back(
        static_cast<float>(model.cost_ms(samples.devices[all[k]], samples.bytes[all[k]])));
  }
}

}  // namespace

TrainedCollective train_collective(const CollectiveSamples& samples) {
  TrainedCollective trained;
  trained.summary.network = network_of(samples);
  for (const auto& [devices, all] : by_device_count(samples)) {
    if (all.size() < kTestedOneIn) {
      throw Error(samples.kind + " samples of " + std::to_string(devices) + " devices: there are " +
                  std::to_string(all.size()) + "; give at least " + std::to_string(kTestedOneIn));
    }
    TestResult test;
    trained.model.lines[devices] = fitted_line(samples, devices, without_part(all, 0));
    predict_part(trained.model, samples, all, 0, test);
    trained.summary.test_samples += test.measured_ms.size();
    trained.summary.train_samples += all.size() - test.measured_ms.size();
    trained.summary.tests.push_back(
        test_result(devices, std::move(test.measured_ms), std::move(test.predicted_ms)));
  }
  // There is nothing to repeat: one pass is all.
  trained.summary.epochs = 1;
  trained.summary.best_epoch = 1;
  return trained;
}

FittedCollective fit_collective(const CollectiveModel* start, const CollectiveSamples& samples) {
  const auto by_devices = by_device_count(samples);
  std::vector<std::size_t> everything;
  for (const auto& [devices, all] : by_devices) {
    if (all.size() < training::Calibration::kFewestSamples) {
      throw Error(samples.kind + " samples of " + std::to_string(devices) + " devices: there are " +
                  std::to_string(all.size()) + "; give at least " +
                  std::to_string(training::Calibration::kFewestSamples));
    }
    everything.insert(everything.end(), all.begin(), all.end());
  }
  const auto model_of = [&](Recipe recipe, const auto& used_of) {
    CollectiveModel model;
    if (start != nullptr) {
      std::vector<std::size_t> used;
      for (const auto& [devices, all] : by_devices) {
        const std::vector<std::size_t> some = used_of(all);
        used.insert(used.end(), some.begin(), some.end());
      }
      model = scaled_to(*start, samples, used);
    }
    if (recipe == Recipe::kTrained) {
      for (const auto& [devices, all] : by_devices) {
        model.lines[devices] = fitted_line(samples, devices, used_of(all));
      }
    }
    return model;
  };
  FittedCollective fitted;
  for (const Recipe recipe : {Recipe::kScaled, Recipe::kTrained}) {
    if (recipe == Recipe::kScaled && start == nullptr) continue;
    std::map<int, TestResult> tests;
    for (std::size_t part = 0; part < kTestedOneIn; ++part) {
      const CollectiveModel model = model_of(
          recipe, [part](const std::vector<std::size_t>& all) { return without_part(all, part); });
      for (const auto& [devices, all] : by_devices) {
        predict_part(model, samples, all, part, tests[devices]);
      }
    }
    RecipeTrial trial{recipe, 0.0, 0.0};
    std::vector<TestResult> results;
    for (auto& [devices, test] : tests) {
      results.push_back(
          test_result(devices, std::move(test.measured_ms), std::move(test.predicted_ms)));
      const Accuracy& accuracy = results.back().accuracy;
      trial.mape += accuracy.mape * static_cast<double>(accuracy.costs);
    }
    trial.mape /= static_cast<double>(everything.size());
    trial.loss = trial.mape;
    const std::vector<RecipeTrial>& before = fitted.fit.trials;
    if (before.empty() || trial.loss < before.front().loss) {
      fitted.fit.recipe = recipe;
      fitted.fit.summary.tests = std::move(results);
    }
    fitted.fit.trials.push_back(trial);
  }
  fitted.model = model_of(fitted.fit.recipe, [](const auto& all) { return all; });
  TrainingSummary& summary = fitted.fit.summary;
  summary.network = network_of(samples);
  summary.train_samples = summary.valid_samples = summary.test_samples = everything.size();
  summary.epochs = 1;
  summary.best_epoch = 1;
  return fitted;
}

}  // namespace neuroshard
