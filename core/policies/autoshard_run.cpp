#include "core/policies/autoshard_run.h"

#include <algorithm>
#include <cmath>

#include "core/policies/policy_features.h"

namespace neuroshard {
namespace {

constexpr int kMemoryStride = padded_width(kMemoryInputs);
constexpr std::size_t kChoiceStride = 3 * kPolicyState;

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

}  // namespace

void update_cell(const float* gates, float* cell, float* hidden) {
  for (int i = 0; i < kPolicyState; ++i) {
    const float in = sigmoid(gates[i]);
    const float forget = sigmoid(gates[kPolicyState + i]);
    const float next = std::tanh(gates[2 * kPolicyState + i]);
    const float out = sigmoid(gates[3 * kPolicyState + i]);
    cell[i] = forget * cell[i] + in * next;
    hidden[i] = out * std::tanh(cell[i]);
  }
}

AutoshardRun::AutoshardRun(const CpuKernels& kernels, const PackedAutoshard& networks,
                           std::span<const Table> tables, std::size_t devices)
    : kernels_(kernels),
      progress_(networks.runner(&AutoshardPolicy::progress, kernels, 1)),
      memory_{networks.runner(&AutoshardPolicy::memory_0, kernels, 1),
              networks.runner(&AutoshardPolicy::memory_1, kernels, 1)},
      baseline_(networks.runner(&AutoshardPolicy::baseline, kernels, 1)),
      load_(networks.runner(&AutoshardPolicy::load, kernels, 1)),
      choice_(networks.runner(&AutoshardPolicy::choice, kernels, static_cast<int>(devices))),
      cost_(networks.runner(&AutoshardPolicy::cost, kernels, 1)),
      devices_(devices),
      embeddings_((tables.size() + 1) * kPolicyEmbedding),
      cost_sums_(devices * kPolicyEmbedding, 0.0F),
      loads_(devices * kLanes, 0.0F),
      device_inputs_(devices * kPolicyState),
      choice_inputs_(devices * kChoiceStride),
      table_ms_(tables.size()),
      logits_(devices) {
  const AlignedVector<float> features = autoshard_features(networks.features, tables);
  networks.runner(&AutoshardPolicy::tables, kernels)
      .run(features.data(), kPolicyFeatureStride, static_cast<int>(tables.size()) + 1,
           embeddings_.data(), kPolicyEmbedding);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    cost_.run(&embeddings_[t * kPolicyEmbedding], kPolicyEmbedding, 1, &table_ms_[t], 1);
    gib_.push_back(static_cast<float>(fp16_gib(tables[t])));
  }
  order_ = dearest_first(table_ms_);
  for (std::size_t d = 0; d < devices; ++d) {
    std::copy_n(&embeddings_[tables.size() * kPolicyEmbedding], kPolicyEmbedding,
                &device_inputs_[d * kPolicyState]);
    look_at(d);
  }
}

void AutoshardRun::look_at(std::size_t device) {
  load_.run(&loads_[device * kLanes], kLanes, 1,
            &device_inputs_[device * kPolicyState + kPolicyEmbedding], kPolicyEmbedding);
}

void AutoshardRun::step_memory() {
  alignas(64) std::array<float, kMemoryStride> inputs{};
  alignas(64) std::array<float, kLanes> progress{};
  alignas(64) std::array<float, std::size_t{4} * kPolicyState> gates{};
  std::copy_n(&embeddings_[order_[placed_] * kPolicyEmbedding], kPolicyEmbedding, inputs.begin());
  progress[0] = static_cast<float>(placed_) / static_cast<float>(order_.size());
  progress_.run(progress.data(), kLanes, 1, &inputs[kPolicyEmbedding], kPolicyEmbedding);
  inputs[kMemoryInputs - 1] = 1.0F;
  for (std::size_t l = 0; l < memory_.size(); ++l) {
    std::ranges::copy(state_.hidden[l], &inputs[kPolicyState]);
    memory_[l].run(inputs.data(), kMemoryStride, 1, gates.data(), static_cast<int>(gates.size()));
    update_cell(gates.data(), state_.cell[l].data(), state_.hidden[l].data());
    std::ranges::copy(state_.hidden[l], inputs.begin());
  }
}

std::span<const float> AutoshardRun::logits() {
  if (has_logits_) return logits_;
  step_memory();
  const auto& state = state_.hidden.back();
  for (std::size_t d = 0; d < devices_; ++d) {
    float* inputs = &choice_inputs_[d * kChoiceStride];
    const float* device = &device_inputs_[d * kPolicyState];
    std::ranges::copy(state, inputs);
    std::copy_n(device, kPolicyState, inputs + kPolicyState);
    for (int i = 0; i < kPolicyState; ++i) inputs[2 * kPolicyState + i] = state[i] * device[i];
  }
  choice_.run(choice_inputs_.data(), kChoiceStride, static_cast<int>(devices_), logits_.data(), 1);
  has_logits_ = true;
  return logits_;
}

float AutoshardRun::baseline() {
  alignas(64) const auto state = state_.hidden.back();
  float expected = 0.0F;
  baseline_.run(state.data(), kPolicyState, 1, &expected, 1);
  return expected;
}

void AutoshardRun::place(std::size_t device) {
  (void)logits();  // The state follows all tables.
  const std::size_t table = order_[placed_++];
  const float* embedding = &embeddings_[table * kPolicyEmbedding];
  float* inputs = &device_inputs_[device * kPolicyState];
  float* cost_sum = &cost_sums_[device * kPolicyEmbedding];
  kernels_.add(inputs, embedding, kPolicyEmbedding, inputs);
  kernels_.add(cost_sum, embedding, kPolicyEmbedding, cost_sum);
  cost_.run(cost_sum, kPolicyEmbedding, 1, &loads_[device * kLanes], 1);
  loads_[device * kLanes + 1] += gib_[table];
  look_at(device);
  has_logits_ = false;
}

}  // namespace neuroshard
