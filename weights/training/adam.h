#pragma once

#include <cmath>
#include <span>
#include <string>

#include "core/base/host_device.h"
#include "neuroshard/aligned_vector.h"
#include "weights/training/training_state.h"

namespace neuroshard::training {

/// A step of Adam changes a parameter so (Kingma and Ba, 2015), with its usual constants: decay 0.9
/// and 0.999, epsilon 1e-8.
class AdamStep {
 public:
  /// `steps`: with this one.
  AdamStep(long steps, double learning_rate);

  NEUROSHARD_HOST_DEVICE void update(float gradient, float& mean, float& square,
                                     float& parameter) const {
    mean = kMeanDecay * mean + (1.0F - kMeanDecay) * gradient;
    square = kSquareDecay * square + (1.0F - kSquareDecay) * gradient * gradient;
    parameter -= rate_ * mean / (std::sqrt(square) * square_scale_ + kEpsilon);
  }

 private:
  static constexpr float kMeanDecay = 0.9F;
  static constexpr float kSquareDecay = 0.999F;
  static constexpr float kEpsilon = 1e-8F;

  float rate_;
  float square_scale_;
};

/// Adds up partial gradients in this order; all have the size of `sum`.
void sum_parts(std::span<const AlignedVector<float>> parts, AlignedVector<float>& sum);

/// Adam for all parameters of a network.
class Adam {
 public:
  explicit Adam(std::size_t parameters);

  /// `gradients`: partial ones (sum_parts()) of the size of `parameters`.
  void step(std::span<const AlignedVector<float>> gradients, double learning_rate,
            AlignedVector<float>& parameters);

  /// Its state: mean and square of the gradients, and how many steps.
  [[nodiscard]] AlignedVector<float>& mean() { return mean_; }
  [[nodiscard]] AlignedVector<float>& square() { return square_; }
  [[nodiscard]] long& steps() { return steps_; }

  void visit_state(const std::string& name, StateVisitor& visitor);

 private:
  AlignedVector<float> mean_;
  AlignedVector<float> square_;
  AlignedVector<float> sum_;
  long steps_ = 0;
};

}  // namespace neuroshard::training
