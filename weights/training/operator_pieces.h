#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/training_data.h"

namespace neuroshard::training {

/// Samples as the table network sees them: tables in operators of so many samples, each once.
struct OperatorPieces {
  std::vector<std::uint32_t> ids;  ///< The piece of each of `ComputeSamples::table_ids`.
  std::vector<float> features;     ///< [pieces, count], not normalised.
  std::size_t count = 0;           ///< Features of a piece.

  [[nodiscard]] std::size_t size() const { return features.size() / count; }
  [[nodiscard]] std::span<const float> features_of(std::size_t piece) const {
    return std::span(features).subspan(piece * count, count);
  }
};

/// `table_features`: kTableFeatures, of which there is a piece for every table, whether a sample
/// has it or not, or kOperatorFeatures. Throws Error if the published ones are asked for and a
/// sample is not of kDefaultBatchSize samples.
[[nodiscard]] OperatorPieces operator_pieces(const ComputeSamples& samples, int table_features);

}  // namespace neuroshard::training
