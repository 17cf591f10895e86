#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "neuroshard/cost_models.h"
#include "neuroshard/training.h"
#include "neuroshard/training_ranges.h"

namespace neuroshard::tools {

/// Known facts on training data; empty: not known.
struct DataOrigin {
  std::string source;             ///< "analytic", "cuda", ...
  std::string hardware;           ///< Name of the GPU or network.
  std::string batch_size;         ///< Samples of an iteration.
  std::string calibrated_from{};  ///< The weights that training began with.
  std::string recipe{};           ///< How the model was made of the samples, if that was chosen.
};

/// A network of a model, and how it was trained.
struct TrainedNetwork {
  const TrainingSummary& summary;
  const TrainingOptions& options;
};

/// From the collection.json of data folders; folders without one say nothing. Throws Error if a
/// folder holds costs of another kind than `kind` ("compute", "comm", "all-reduce" or "kinds"), or
/// if two were collected on different hardware, from different sources or at different batch sizes.
[[nodiscard]] DataOrigin read_data_origin(std::span<const std::filesystem::path> folders,
                                          const std::string& kind);

/// Samples of an iteration, as DataOrigin and the metadata of weights have them as text; nothing if
/// it is no single number.
[[nodiscard]] std::optional<std::int64_t> batch_of_text(const std::string& text);

/// Samples that do not say how many samples their operator serves serve the batch that they were
/// collected with, if `origin` knows it.
void serve_collected_batch(const DataOrigin& origin, ComputeSamples& samples);

/// Puts origin, training, ranges of the samples and test results of one model of a weights file
/// into its metadata, under keys that start with `part` ("compute", "comm.symmetric", "comm.4",
/// "all_reduce" or "kinds"), in place of what was there; and sums up source, hardware and batch
/// size of all parts.
void describe_training(CostModels& models, const std::string& part, const DataOrigin& origin,
                       std::span<const TrainedNetwork> networks,
                       const std::map<std::string, TrainingRange>& ranges);

}  // namespace neuroshard::tools
