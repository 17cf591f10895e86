#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace neuroshard::ranks {

/// Parts of an iteration on one device. All but the last are what cost models predict.
enum class Phase {
  kIds,              ///< All-to-all of the ids.
  kForwardCompute,   ///< Lookup and pooling: of slices, and of replicas for the device's samples.
  kForward,          ///< All-to-all of the outputs, the wait for devices that are later included.
  kBackward,         ///< All-to-all of the gradients.
  kBackwardCompute,  ///< Gradients of slices and SGD; dense gradients of replicas.
  kAllReduce,        ///< Of the replicas' gradients, and the update by them.
  kUnpriced,         ///< Ids put in the order of the slices, partial sums of row blocks added up.
};
inline constexpr std::size_t kPhases = 7;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "ids", "forward_compute", "forward", "backward", "backward_compute", "all_reduce", "unpriced"};

/// Milliseconds of each.
struct PhaseTimes {
  std::array<double, kPhases> ms{};

  double& operator[](Phase phase) { return ms[static_cast<std::size_t>(phase)]; }
  double operator[](Phase phase) const { return ms[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] double compute_ms() const {
    return (*this)[Phase::kForwardCompute] + (*this)[Phase::kBackwardCompute];
  }
  /// Of what is priced.
  [[nodiscard]] double total_ms() const {
    double sum = 0.0;
    for (const double one : ms) sum += one;
    return sum - (*this)[Phase::kUnpriced];
  }
};

}  // namespace neuroshard::ranks
