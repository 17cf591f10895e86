#include "weights/training/candidates.h"

#include <utility>

#include "core/base/count_up.h"
#include "neuroshard/error.h"

namespace neuroshard::training {
namespace {

constexpr std::uint64_t kPartsStream = 5;  // A stream of the seed; train_models.cpp has others.

// A recipe that comes later knows less of what samples do not show, so it has to be so much better.
constexpr double kLossOfLaterRecipe = 0.9;

// All device counts together.
double mape_of(std::span<const TestResult> tests) {
  double sum = 0.0;
  double costs = 0.0;
  for (const TestResult& test : tests) {
    sum += test.accuracy.mape * static_cast<double>(test.accuracy.costs);
    costs += static_cast<double>(test.accuracy.costs);
  }
  return costs > 0.0 ? sum / costs : 0.0;
}

}  // namespace

std::vector<std::uint32_t> shuffled_samples(std::size_t count, const std::string& what,
                                            const TrainingOptions& options) {
  if (count < Calibration::kFewestSamples) {
    throw Error("calibration data: " + std::to_string(count) + " " + what + "; give at least " +
                std::to_string(Calibration::kFewestSamples) + ", better 100");
  }
  if (options.on_state || !options.resume_from.empty()) {
    throw Error("calibration takes seconds and keeps no state; leave out on_state and resume_from");
  }
  if (options.backend) {
    throw Error("calibration takes seconds and runs on the CPU; leave out backend");
  }
  std::vector<std::uint32_t> all = count_up<std::uint32_t>(count);
  Random random(options.seed, kPartsStream);
  shuffle(std::span(all), random);
  return all;
}

BestCandidate best_candidate(std::span<const Candidate> candidates,
                             const std::vector<std::uint32_t>& samples,
                             const std::string& network) {
  BestCandidate result;
  std::unique_ptr<Calibration>& best = result.calibration;
  bool stopped = false;
  for (const Candidate& candidate : candidates) {
    auto calibration = std::make_unique<Calibration>(candidate.make, samples, candidate.network,
                                                     candidate.options);
    try {
      calibration->cross_validate();
    } catch (const Error& error) {
      // The rate may be too high for this one alone: the samples were good enough for the first.
      if (best == nullptr || error.kind() != ErrorKind::kInvalidInput) throw;
      continue;
    }
    stopped = calibration->summary().stopped;
    const double loss = calibration->summary().valid_loss;
    if (best == nullptr || !stopped) {
      std::vector<RecipeTrial>& trials = result.fit.trials;
      const bool is_known = best != nullptr && candidate.recipe == trials.back().recipe;
      const RecipeTrial trial{candidate.recipe, loss, mape_of(calibration->summary().tests)};
      if (!is_known) {
        trials.push_back(trial);
      } else if (loss < trials.back().loss) {
        trials.back() = trial;
      }
      if (best == nullptr ||
          loss < best->summary().valid_loss *
                     (candidate.recipe == result.fit.recipe ? 1.0 : kLossOfLaterRecipe)) {
        best = std::move(calibration);
        result.fit.recipe = candidate.recipe;
        result.fit.options = candidate.options;
      }
    }
    if (stopped) break;
  }
  result.fit.summary = best->summary();
  result.fit.summary.network = network;
  result.fit.summary.stopped = stopped;
  return result;
}

}  // namespace neuroshard::training
