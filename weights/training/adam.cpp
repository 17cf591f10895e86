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

void sum_parts(std::span<const AlignedVector<float>> parts, AlignedVector<float>& sum) {
  std::fill(sum.begin(), sum.end(), 0.0F);
  for (const AlignedVector<float>& part : parts) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
}

Adam::Adam(std::size_t parameters)
    : mean_(parameters, 0.0F), square_(parameters, 0.0F), sum_(parameters, 0.0F) {}

void Adam::step(std::span<const AlignedVector<float>> gradients, double learning_rate,
                AlignedVector<float>& parameters) {
  ++steps_;
  sum_parts(gradients, sum_);
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
