#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neuroshard/fitting.h"
#include "weights/training/calibration.h"

namespace neuroshard::training {

/// A way to a network, of which the best is wanted.
struct Candidate {
  Recipe recipe = Recipe::kCalibrated;
  std::string network;  ///< Named so in reports of epochs.
  MakeTrainee make;
  TrainingOptions options;  ///< No epochs: what `make` makes is left as it is.
};

struct BestCandidate {
  std::unique_ptr<Calibration> calibration;  ///< Whose train() makes the network of all samples.
  Fit fit;
};

/// The numbers of so many samples in the order in which a Calibration takes them. Throws Error if
/// there are too few, or on options that calibrations do not have. `what` names the samples.
[[nodiscard]] std::vector<std::uint32_t> shuffled_samples(std::size_t count,
                                                          const std::string& what,
                                                          const TrainingOptions& options);

/// Cross-validates all candidates on the same parts of `samples`; the one of least loss is best, of
/// another recipe than the best before only if its loss is a tenth less. Borrows the candidates for
/// train(). Stopped by their options' should_stop, the first is kept with its best epoch so far,
/// any other is left out. So is a candidate other than the first whose error stops being finite.
/// `network` names the summary.
[[nodiscard]] BestCandidate best_candidate(std::span<const Candidate> candidates,
                                           const std::vector<std::uint32_t>& samples,
                                           const std::string& network);

}  // namespace neuroshard::training
