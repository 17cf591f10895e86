#pragma once

#include <span>

#include "weights/training/adam.h"
#include "weights/training/trainable_mlp.h"

namespace neuroshard::training {

/// Trains a network that was trained before by few numbers, for few samples: a factor for each
/// input and each hidden unit, the biases, and, if asked, all weights of the last layer. The
/// weights that stay hold what a network knows of which tables cost how much in relation. Machines
/// differ mostly in how much each of its units counts.
///
/// The network is shown the running mean of the numbers over about a hundred steps: single steps
/// of few samples are rough.
class UnitGains {
 public:
  UnitGains(const TrainableMlp& start, bool with_last_layer);

  /// Before gradients are taken: the network has the latest numbers.
  void show_latest(TrainableMlp& network) const { show(numbers_, network); }
  /// A step of Adam with partial gradients of the network's parameters. The network then has the
  /// running mean.
  void step(std::span<const AlignedVector<float>> gradients, double learning_rate,
            TrainableMlp& network);

  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  /// Calls `scaled(first, count, input gain, first output gain)` for every input of a layer, whose
  /// weights are the start's times two numbers, and `free(first, count, first number)` for
  /// parameters that are numbers themselves. The first of the numbers is 1 for good: a gain of what
  /// has none, as all outputs of the last layer. All are positions. Returns how many numbers there
  /// are.
  template <typename Scaled, typename Free>
  std::size_t for_each_row(const Scaled& scaled, const Free& free) const;
  void show(const AlignedVector<float>& numbers, TrainableMlp& network) const;

  TrainableMlp start_;
  bool with_last_layer_;
  AlignedVector<float> numbers_;
  AlignedVector<float> means_;
  AlignedVector<float> slopes_;                 ///< By parameter of the network.
  std::vector<AlignedVector<float>> gradient_;  ///< One part, of `numbers_`.
  Adam adam_;
};

}  // namespace neuroshard::training
