#include "weights/training/unit_gains.h"

#include <algorithm>

namespace neuroshard::training {
namespace {

constexpr std::size_t kNoGain = 0;  // The number that stays 1.
constexpr float kMeanDecay = 0.99F;

}  // namespace

template <typename Scaled, typename Free>
std::size_t UnitGains::for_each_row(const Scaled& scaled, const Free& free) const {
  const std::size_t layers = start_.layers();
  const std::size_t input_gains = kNoGain + 1;
  std::size_t next = input_gains + static_cast<std::size_t>(start_.inputs());
  for (std::size_t k = 0; k < layers; ++k) {
    const bool is_last = k + 1 == layers;
    const auto inputs = static_cast<std::size_t>(start_.width(k));
    const auto outputs = static_cast<std::size_t>(start_.width(k + 1));
    const std::size_t stride = padded_width(start_.width(k + 1));
    const std::size_t output_gains = is_last ? kNoGain : next;
    if (!is_last) next += outputs;
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::size_t first = start_.weight_at(k) + i * stride;
      if (is_last && with_last_layer_) {
        free(first, outputs, next);
        next += outputs;
      } else {
        scaled(first, outputs, k == 0 ? input_gains + i : kNoGain, output_gains);
      }
    }
    if (!start_.has_biases()) continue;
    free(start_.bias_at(k), outputs, next);
    next += outputs;
  }
  return next;
}

UnitGains::UnitGains(const TrainableMlp& start, bool with_last_layer)
    : start_(start),
      with_last_layer_(with_last_layer),
      slopes_(start.parameters().size(), 0.0F),
      adam_(0) {
  const auto nothing = [](auto...) {};
  numbers_.assign(for_each_row(nothing, nothing), 1.0F);  // The numbers of free parameters follow.
  for_each_row(nothing, [&](std::size_t first, std::size_t count, std::size_t number) {
    std::copy_n(&start_.parameters()[first], count, &numbers_[number]);
  });
  means_ = numbers_;
  gradient_.assign(1, AlignedVector<float>(numbers_.size(), 0.0F));
  adam_ = Adam(numbers_.size());
}

void UnitGains::show(const AlignedVector<float>& numbers, TrainableMlp& network) const {
  for_each_row(
      [&](std::size_t first, std::size_t count, std::size_t input, std::size_t output) {
        const float* start = &start_.parameters()[first];
        const float* outputs = &numbers[output];
        float* shown = &network.parameters()[first];
        const float of_input = numbers[input];
        for (std::size_t o = 0; o < count; ++o) {
          shown[o] = start[o] * of_input * (output == kNoGain ? 1.0F : outputs[o]);
        }
      },
      [&](std::size_t first, std::size_t count, std::size_t number) {
        std::copy_n(&numbers[number], count, &network.parameters()[first]);
      });
  network.parameters_changed();
}

void UnitGains::step(std::span<const AlignedVector<float>> gradients, double learning_rate,
                     TrainableMlp& network) {
  sum_parts(gradients, slopes_);
  AlignedVector<float>& gradient = gradient_.front();
  std::ranges::fill(gradient, 0.0F);
  for_each_row(
      [&](std::size_t first, std::size_t count, std::size_t input, std::size_t output) {
        const float* start = &start_.parameters()[first];
        const float* slopes = &slopes_[first];
        if (output != kNoGain) {
          float* of_outputs = &gradient[output];
          const float gain = numbers_[input];
          for (std::size_t o = 0; o < count; ++o) of_outputs[o] += slopes[o] * start[o] * gain;
        }
        if (input == kNoGain) return;
        float sum = gradient[input];
        for (std::size_t o = 0; o < count; ++o) {
          sum += slopes[o] * start[o] * (output == kNoGain ? 1.0F : numbers_[output + o]);
        }
        gradient[input] = sum;
      },
      [&](std::size_t first, std::size_t count, std::size_t number) {
        for (std::size_t i = 0; i < count; ++i) gradient[number + i] += slopes_[first + i];
      });
  adam_.step(gradient_, learning_rate, numbers_);
  for (std::size_t i = 0; i < means_.size(); ++i) {
    means_[i] = kMeanDecay * means_[i] + (1.0F - kMeanDecay) * numbers_[i];
  }
  show(means_, network);
}

}  // namespace neuroshard::training
