#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/fitting.h"
#include "neuroshard/node_links.h"
#include "tools/training/training_metadata.h"

namespace neuroshard::tools {

/// The mean error in relation to costs that were held back beyond which models say too little.
inline constexpr double kUsualMaxError = 0.3;

struct FitRequest {
  std::vector<std::filesystem::path> folders;  ///< Each says which kind of samples it has.
  /// Weights that recipes begin with: "built-in", a hardware's or a file; empty: the built-in ones
  /// whose compute model is nearest.
  std::string from;
  FitOptions options;
};

/// A model of the weights that has been made of samples.
struct FittedPart {
  std::string part;  ///< As in describe_training().
  std::vector<Fit> networks;
};

struct FittedWeights {
  CostModels models;
  std::string from;  ///< The recipes began with it; as origin_of() names it.
  std::vector<FittedPart> parts;
};

/// The weights that `train --from` names. Throws Error if there are none.
[[nodiscard]] CostModels start_models(const std::string& from);

/// Reads the samples, makes each part by the recipe that is best on samples held back, and
/// describes it in the metadata. Parts without samples stay those of the start. Throws Error if a
/// folder does not say what it holds, or a fit throws.
[[nodiscard]] FittedWeights fit_weights(const FitRequest& request);

/// A line for each test of a network whose error exceeds `max_error`, naming the term.
[[nodiscard]] std::vector<std::string> terms_off(const std::string& part,
                                                 const TrainingSummary& summary, double max_error);
[[nodiscard]] std::vector<std::string> terms_off(const FittedWeights& fitted, double max_error);

/// The network of samples by its name, if it is that of a datasheet.
[[nodiscard]] std::optional<NodeNetwork> datasheet_network(const std::string& hardware);

}  // namespace neuroshard::tools
