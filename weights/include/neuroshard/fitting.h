#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "neuroshard/training.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Way to make a model of samples.
enum class Recipe {
  kScaled,      ///< All costs of another machine's model are multiplied by one factor.
  kCalibrated,  ///< Such a model is fitted to the samples, as by calibrate_compute().
  kTrained,     ///< The model is trained anew.
};
/// "scaled", "calibrated" or "trained anew".
[[nodiscard]] std::string_view name_of(Recipe recipe);

struct FitOptions {
  std::uint64_t seed = 0;
  int threads = 0;        ///< 0: one per core.
  int most_epochs = 300;  ///< Many samples take fewer.
  /// Called on the calling thread after every epoch; EpochReport::network says of which recipe.
  std::function<void(const EpochReport&)> on_epoch;
  /// Asked after every epoch. True ends the fit with the best recipe that is through.
  std::function<bool()> should_stop;
};

/// A recipe that was tried, and how far it is off on samples that were held back from it.
struct RecipeTrial {
  Recipe recipe = Recipe::kScaled;
  double loss = 0.0;  ///< Loss that compares recipes: TrainingLoss::kRelative of networks.
  double mape = 0.0;
};

/// Says how a network was made.
struct Fit {
  Recipe recipe = Recipe::kScaled;
  std::vector<RecipeTrial> trials;
  TrainingOptions options;  ///< The recipe has them.
  TrainingSummary summary;  ///< Its tests are of all samples, each held back from what predicts it.
};

struct FittedCompute {
  ComputeModel model;
  Fit fit;
};
struct FittedComm {
  CommModel model;
  Fit forward;
  Fit backward;
};
struct FittedCollective {
  CollectiveModel model;
  Fit fit;
};

// A fit tries all recipes on samples in five parts. Each recipe makes five models, each without one
// part, and predicts that part; the recipe with the least loss then makes the result of all
// samples. Without a `start`, the model of another machine, there is only training anew. The number
// of epochs is found in the same way (neuroshard/training.h). All throw Error (kInvalidInput) on
// fewer than 20 samples.

/// A model that is trained anew has operator features.
[[nodiscard]] FittedCompute fit_compute(const ComputeModel* start, const ComputeSamples& samples,
                                        const FitOptions& options = {});
/// The networks are symmetric. One of a single device count is no start.
[[nodiscard]] FittedComm fit_comm(const CommModel* start, std::span<const CommSamples> samples,
                                  const FitOptions& options = {});
/// Fits a line for each device count of the samples, as train_collective() does. Other device
/// counts keep those of `start`, scaled by one factor. Nothing is calibrated. Needs at least 20
/// samples of each device count.
[[nodiscard]] FittedCollective fit_collective(const CollectiveModel* start,
                                              const CollectiveSamples& samples);

/// The hardware whose built-in compute model is nearest to the samples, once it is scaled.
[[nodiscard]] std::string_view nearest_hardware(const ComputeSamples& samples);

}  // namespace neuroshard
#pragma GCC visibility pop
