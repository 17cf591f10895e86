#include "weights/training/unit_gains.h"

#include <algorithm>

namespace neuroshard::training {
namespace {

constexpr std::size_t kNoGain = 0;  // The number that stays 1.
constexpr float kMeanDecay = 0.99F;

}  // namespace

template <typename Scaled, typename Free>
void UnitGains::for_each_parameter(const Scaled& scaled, const Free& free) const {
  const std::size_t layers = start_.layers();
  const std::size_t input_gains = kNoGain + 1;
  std::size_t next = input_gains + static_cast<std::size_t>(start_.inputs());
  for (std::size_t k = 0; k < layers; ++k) {
    const bool is_last = k + 1 == layers;
    const auto inputs = static_cast<std::size_t>(start_.width(k));
    const auto outputs = static_cast<std::size_t>(start_.width(k + 1));
    const std::size_t stride = padded_width(start_.width(k + 1));
    const std::size_t output_gains = next;
    if (!is_last) next += outputs;
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t o = 0; o < outputs; ++o) {
        const std::size_t parameter = start_.weight_at(k) + i * stride + o;
        if (is_last && with_last_layer_) {
          free(parameter, next++);
        } else {
          scaled(parameter, k == 0 ? input_gains + i : kNoGain,
                 is_last ? kNoGain : output_gains + o);
        }
      }
    }
    if (!start_.has_biases()) continue;
    for (std::size_t o = 0; o < outputs; ++o) free(start_.bias_at(k) + o, next++);
  }
}

UnitGains::UnitGains(const TrainableMlp& start, bool with_last_layer)
    : start_(start), with_last_layer_(with_last_layer), adam_(0) {
  std::size_t last = kNoGain + static_cast<std::size_t>(start.inputs());
  for_each_parameter(
      [&](std::size_t, std::size_t, std::size_t output) { last = std::max(last, output); },
      [&](std::size_t, std::size_t number) { last = std::max(last, number); });
  numbers_.assign(last + 1, 1.0F);  // The numbers of free parameters follow.
  for_each_parameter([](std::size_t, std::size_t, std::size_t) {},
                     [&](std::size_t parameter, std::size_t number) {
                       numbers_[number] = start_.parameters()[parameter];
                     });
  means_ = numbers_;
  gradient_.assign(1, AlignedVector<float>(numbers_.size(), 0.0F));
  adam_ = Adam(numbers_.size());
}

void UnitGains::show(const AlignedVector<float>& numbers, TrainableMlp& network) const {
  AlignedVector<float>& parameters = network.parameters();
  for_each_parameter(
      [&](std::size_t parameter, std::size_t input, std::size_t output) {
        parameters[parameter] = start_.parameters()[parameter] * numbers[input] * numbers[output];
      },
      [&](std::size_t parameter, std::size_t number) { parameters[parameter] = numbers[number]; });
  network.parameters_changed();
}

void UnitGains::step(std::span<const AlignedVector<float>> gradients, double learning_rate,
                     TrainableMlp& network) {
  const auto slope = [&](std::size_t parameter) {
    float sum = 0.0F;
    for (const AlignedVector<float>& part : gradients) sum += part[parameter];
    return sum;
  };
  AlignedVector<float>& gradient = gradient_.front();
  std::ranges::fill(gradient, 0.0F);
  for_each_parameter(
      [&](std::size_t parameter, std::size_t input, std::size_t output) {
        const float of_product = slope(parameter) * start_.parameters()[parameter];
        gradient[input] += of_product * numbers_[output];
        gradient[output] += of_product * numbers_[input];
      },
      [&](std::size_t parameter, std::size_t number) { gradient[number] += slope(parameter); });
  gradient[kNoGain] = 0.0F;
  adam_.step(gradient_, learning_rate, numbers_);
  for (std::size_t i = 0; i < means_.size(); ++i) {
    means_[i] = kMeanDecay * means_[i] + (1.0F - kMeanDecay) * numbers_[i];
  }
  show(means_, network);
}

}  // namespace neuroshard::training
