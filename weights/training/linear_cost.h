#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weights/training/operator_pieces.h"

namespace neuroshard::training {

/// The cost of an operator as a sum: so much for each operator feature of its tables, for the
/// lengths of their bags, and once. Few samples decide so few numbers.
class LinearCost {
 public:
  /// Fits the samples `used`, by ridge regression of errors relative to the costs. Large errors
  /// count in proportion and not by their squares (Huber). `pieces` has kOperatorFeatures.
  LinearCost(const ComputeSamples& samples, const OperatorPieces& pieces,
             std::span<const std::uint32_t> used);

  [[nodiscard]] float cost_ms(const ComputeSamples& samples, const OperatorPieces& pieces,
                              std::size_t sample) const;

 private:
  std::vector<double> factors_;
};

/// `count` operators of the tables of the samples `used`, each of as many tables as one of them
/// has, at the costs that a LinearCost of `used` gives them.
[[nodiscard]] ComputeSamples drawn_operators(const ComputeSamples& samples,
                                             std::span<const std::uint32_t> used, std::size_t count,
                                             std::uint64_t seed);

}  // namespace neuroshard::training
