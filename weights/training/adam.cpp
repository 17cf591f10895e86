#include "weights/training/adam.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::training {

AdamStep::AdamStep(long steps, double learning_rate) {
  const double mean_correction = 1.0 - std::pow(0.9, steps);
  const double square_correction = 1.0 - std::pow(0.999, steps);
  rate_ = static_cast<float>(learning_rate / mean_correction);
  square_scale_ = static_cast<float>(1.0 / std::sqrt(square_correction));
}

Adam::Adam(std::size_t parameters)
    : mean_(parameters, 0.0F), square_(parameters, 0.0F), sum_(parameters, 0.0F) {}

void Adam::step(std::span<const AlignedVector<float>> gradients, double learning_rate,
                AlignedVector<float>& parameters) {
  ++steps_;
  std::fill(sum_.begin(), sum_.end(), 0.0F);
  for (const AlignedVector<float>& part : gradients) {
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += part[i];
  }
  const AdamStep step(steps_, learning_rate);
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    step.update(sum_[i], mean_[i], square_[i], parameters[i]);
  }
}

void Adam::visit_state(const std::string& name, StateVisitor& visitor) {
  visitor.floats(name + ".mean", mean_);
  visitor.floats(name + ".square", square_);
  visitor.count(name + ".steps", steps_);
}

}  // namespace neuroshard::training
