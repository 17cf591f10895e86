#include "core/policies/dreamshard_run.h"

#include <algorithm>

#include "core/policies/policy_features.h"
#include "core/policies/policy_parts.h"

namespace neuroshard {
namespace {

constexpr std::size_t kChoiceInputs = 2 * kPolicyEmbedding;

AlignedVector<float> embedded(MlpRunner runner, const AlignedVector<float>& features) {
  const std::size_t rows = features.size() / kPolicyFeatureStride;
  AlignedVector<float> embeddings(rows * kPolicyEmbedding);
  runner.run(features.data(), kPolicyFeatureStride, static_cast<int>(rows), embeddings.data(),
             kPolicyEmbedding);
  return embeddings;
}

}  // namespace

DreamshardRun::DreamshardRun(const CpuKernels& kernels, const PackedDreamshard& networks,
                             std::span<const Table> tables, std::size_t devices)
    : kernels_(kernels),
      heads_{networks.runner(&DreamshardPolicy::forward, kernels, 1),
             networks.runner(&DreamshardPolicy::communication, kernels, 1),
             networks.runner(&DreamshardPolicy::backward, kernels, 1)},
      overall_(networks.runner(&DreamshardPolicy::overall, kernels, 1)),
      cost_features_(networks.runner(&DreamshardPolicy::cost_features, kernels, 1)),
      choice_(networks.runner(&DreamshardPolicy::choice, kernels, 1)),
      devices_(devices),
      cost_sums_(devices * kPolicyEmbedding),
      choice_inputs_(devices * kChoiceInputs),
      is_empty_(devices, true),
      logits_(devices) {
  const AlignedVector<float> features = dreamshard_features(tables);
  cost_tables_ = embedded(networks.runner(&DreamshardPolicy::cost_tables, kernels), features);
  policy_tables_ = embedded(networks.runner(&DreamshardPolicy::policy_tables, kernels), features);
  std::vector<float> sums;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    table_costs_.push_back(costs_of(&cost_tables_[t * kPolicyEmbedding]));
    const auto& [forward, communication, backward] = table_costs_.back();
    sums.push_back(forward + communication + backward);
  }
  order_ = dearest_first(sums);
  const std::size_t zeros = tables.size() * kPolicyEmbedding;
  for (std::size_t d = 0; d < devices; ++d) {
    std::copy_n(&cost_tables_[zeros], kPolicyEmbedding, &cost_sums_[d * kPolicyEmbedding]);
    std::copy_n(&policy_tables_[zeros], kPolicyEmbedding, &choice_inputs_[d * kChoiceInputs]);
    look_at(d);
  }
}

DreamshardCosts DreamshardRun::costs_of(const float* cost_sum) {
  DreamshardCosts costs{};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    heads_[i].run(cost_sum, kPolicyEmbedding, 1, &costs[i], 1);
  }
  return costs;
}

void DreamshardRun::look_at(std::size_t device) {
  alignas(64) std::array<float, kLanes> costs{};
  std::ranges::copy(costs_of(&cost_sums_[device * kPolicyEmbedding]), costs.begin());
  float* inputs = &choice_inputs_[device * kChoiceInputs];
  cost_features_.run(costs.data(), kLanes, 1, inputs + kPolicyEmbedding, kPolicyEmbedding);
  choice_.run(inputs, kChoiceInputs, 1, &logits_[device], 1);
}

void DreamshardRun::place(std::size_t device) {
  const std::size_t row = order_[placed_++] * kPolicyEmbedding;
  float* cost_sum = &cost_sums_[device * kPolicyEmbedding];
  float* choice_sum = &choice_inputs_[device * kChoiceInputs];
  if (is_empty_[device]) {
    std::copy_n(&cost_tables_[row], kPolicyEmbedding, cost_sum);
    std::copy_n(&policy_tables_[row], kPolicyEmbedding, choice_sum);
    is_empty_[device] = false;
  } else {
    kernels_.add(cost_sum, &cost_tables_[row], kPolicyEmbedding, cost_sum);
    kernels_.add(choice_sum, &policy_tables_[row], kPolicyEmbedding, choice_sum);
  }
  look_at(device);
}

float DreamshardRun::overall_ms() {
  alignas(64) std::array<float, kPolicyEmbedding> most{};
  std::copy_n(cost_sums_.data(), kPolicyEmbedding, most.begin());
  for (std::size_t d = 1; d < devices_; ++d) {
    for (std::size_t i = 0; i < most.size(); ++i) {
      most[i] = std::max(most[i], cost_sums_[d * kPolicyEmbedding + i]);
    }
  }
  float cost_ms = 0.0F;
  overall_.run(most.data(), kPolicyEmbedding, 1, &cost_ms, 1);
  return cost_ms;
}

}  // namespace neuroshard
