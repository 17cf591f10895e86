#include "core/policies/policy_parts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr int kTableWidths[] = {kPolicyFeatures, 128, kPolicyEmbedding};
constexpr int kHeadWidths[] = {kPolicyEmbedding, 64, 1};
constexpr int kCostFeatureWidths[] = {3, 64, 32};
constexpr int kLogitWidths[] = {64, 1};
constexpr int kProgressWidths[] = {1, 32};
constexpr int kMemoryWidths[] = {kMemoryInputs, 4 * kPolicyState};
constexpr int kBaselineWidths[] = {kPolicyState, 64, 1};
constexpr int kLoadWidths[] = {2, 32};
constexpr int kChoiceWidths[] = {3 * kPolicyState, 128, 128, 64, 1};

std::vector<int> widths_of(const Mlp& mlp) {
  std::vector<int> widths{mlp.inputs()};
  for (const DenseLayer& layer : mlp.layers) widths.push_back(layer.outputs);
  return widths;
}

bool finite_numbers(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

bool is_whole(const DenseLayer& layer) {
  const auto outputs = static_cast<std::size_t>(layer.outputs);
  return layer.weight.size() == outputs * static_cast<std::size_t>(layer.inputs) &&
         layer.bias.size() == outputs;
}

template <typename Policy>
void validate_networks(const Policy& policy, const std::string& where) {
  for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
    const Mlp& network = policy.*part.network;
    const std::string place = where + ": network '" + std::string(part.name) + "': ";
    bool fits = std::ranges::equal(widths_of(network), part.widths);
    for (std::size_t k = 0; fits && k < network.layers.size(); ++k) {
      fits = network.layers[k].inputs == part.widths[k] && is_whole(network.layers[k]);
    }
    if (!fits) {
      throw Error(place + "has the layers " + joined(widths_of(network), "-") + "; expected " +
                  joined(part.widths, "-"));
    }
    for (const DenseLayer& layer : network.layers) {
      if (finite_numbers(layer.weight) && finite_numbers(layer.bias)) continue;
      throw Error(place + "a weight is NaN or infinite; train the policy anew");
    }
  }
}

}  // namespace

template <>
std::span<const PolicyPart<DreamshardPolicy>> policy_parts() {
  using P = DreamshardPolicy;
  static constexpr PolicyPart<P> kParts[] = {
      {"cost_tables", "table_fc", kTableWidths, true, &P::cost_tables},
      {"forward", "forward_fc", kHeadWidths, false, &P::forward},
      {"communication", "communication_fc", kHeadWidths, false, &P::communication},
      {"backward", "backward_fc", kHeadWidths, false, &P::backward},
      {"overall", "overall_fc", kHeadWidths, false, &P::overall},
      {"cost_features", "cost_fc", kCostFeatureWidths, true, &P::cost_features},
      {"policy_tables", "rl_table_fc", kTableWidths, true, &P::policy_tables},
      {"choice", "policy_net", kLogitWidths, false, &P::choice}};
  return kParts;
}

template <>
std::span<const PolicyPart<AutoshardPolicy>> policy_parts() {
  using P = AutoshardPolicy;
  static constexpr PolicyPart<P> kParts[] = {
      {"tables", "t_fc", kTableWidths, true, &P::tables},
      {"progress", "s_fc", kProgressWidths, true, &P::progress},
      {"memory_0", "core_l0", kMemoryWidths, false, &P::memory_0},
      {"memory_1", "core_l1", kMemoryWidths, false, &P::memory_1},
      {"baseline", "b_fc", kBaselineWidths, false, &P::baseline},
      {"load", "a_fc", kLoadWidths, true, &P::load},
      {"choice", "p_fc", kChoiceWidths, false, &P::choice},
      {"cost", "c_fc", kHeadWidths, false, &P::cost}};
  return kParts;
}

std::string_view algorithm_of(const PlacementPolicy& policy) {
  return std::holds_alternative<DreamshardPolicy>(policy.networks) ? "dreamshard" : "autoshard";
}

void validate(const PlacementPolicy& policy, const std::string& where) {
  std::visit([&](const auto& networks) { validate_networks(networks, where); }, policy.networks);
  const auto* autoshard = std::get_if<AutoshardPolicy>(&policy.networks);
  if (autoshard == nullptr) return;
  const Normalization& features = autoshard->features;
  if (features.mean.size() != kNormalizedFeatures || features.std.size() != kNormalizedFeatures ||
      !finite_numbers(features.mean) || !finite_numbers(features.std) ||
      std::ranges::any_of(features.std, [](float std) { return std <= 0.0F; })) {
    throw Error(where +
                ": features: expected three finite means and positive deviations, of dims, rows "
                "and pooling factors");
  }
}

}  // namespace neuroshard
