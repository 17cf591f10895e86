#include "weights/training/adam.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::training {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kEpsilon = 1e-8;

}  // namespace

Adam::Adam(std::size_t parameters)
    : mean_(parameters, 0.0F), square_(parameters, 0.0F), sum_(parameters, 0.0F) {}

void Adam::step(std::span<const AlignedVector<float>> gradients, double learning_rate,
                AlignedVector<float>& parameters) {
  ++steps_;
  std::fill(sum_.begin(), sum_.end(), 0.0F);
  for (const AlignedVector<float>& part : gradients) {
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += part[i];
  }
  const double mean_correction = 1.0 - std::pow(kMeanDecay, steps_);
  const double square_correction = 1.0 - std::pow(kSquareDecay, steps_);
  const auto rate = static_cast<float>(learning_rate / mean_correction);
  const auto square_scale = static_cast<float>(1.0 / std::sqrt(square_correction));
  constexpr auto kMean = static_cast<float>(kMeanDecay);
  constexpr auto kSquare = static_cast<float>(kSquareDecay);
  constexpr auto kEps = static_cast<float>(kEpsilon);
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    const float gradient = sum_[i];
    mean_[i] = kMean * mean_[i] + (1.0F - kMean) * gradient;
    square_[i] = kSquare * square_[i] + (1.0F - kSquare) * gradient * gradient;
    parameters[i] -= rate * mean_[i] / (std::sqrt(square_[i]) * square_scale + kEps);
  }
}

void Adam::visit_state(const std::string& name, StateVisitor& visitor) {
  visitor.floats(name + ".mean", mean_);
  visitor.floats(name + ".square", square_);
  visitor.count(name + ".steps", steps_);
}

}  // namespace neuroshard::training
