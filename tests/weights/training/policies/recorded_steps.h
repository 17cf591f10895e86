#pragma once

#include <cmath>

#include "core/policies/policy_parts.h"
#include "core/policies/published_run.h"
#include "weights/training/policies/part_trainee.h"

namespace neuroshard::testing {

/// Norms of the gradients of tensors by their published names, of those that are recorded.
template <typename Policy>
void expect_gradient_norms(std::vector<training::PartTrainee>& parts,
                           const nlohmann::json& recorded) {
  const auto norm = [](const float* values, std::size_t count) {
    double squares = 0.0;
    for (std::size_t i = 0; i < count; ++i) squares += std::pow(values[i], 2);
    return std::sqrt(squares);
  };
  std::size_t compared = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const PolicyPart<Policy>& part = policy_parts<Policy>()[p];
    const training::TrainableMlp& network = parts[p].network();
    for (std::size_t k = 0; k < network.layers(); ++k) {
      const std::string name = std::string(part.published) +
                               (part.published == "policy_net" ? "" : "_" + std::to_string(k));
      if (!recorded.contains(name + ".weight")) continue;
      const auto outputs = static_cast<std::size_t>(padded_width(network.width(k + 1)));
      const float* gradient = parts[p].gradient().data();
      const auto inputs = static_cast<std::size_t>(network.width(k));
      expect_near(norm(gradient + network.weight_at(k), inputs * outputs),
                  recorded[name + ".weight"]);
      expect_near(norm(gradient + network.bias_at(k), outputs), recorded[name + ".bias"]);
      compared += 2;
    }
  }
  EXPECT_EQ(compared, recorded.size());
}

/// Every 37th number of tensors by their published names. Adam's first step is the sign of the
/// gradient, which may be rounding, so that a few numbers are off by as much as the rate.
template <typename Policy>
void expect_weights(const Policy& policy, const nlohmann::json& recorded) {
  std::size_t compared = 0;
  std::size_t off = 0;
  const auto compare = [&](const std::string& name, const std::vector<float>& values) {
    if (!recorded.contains(name)) return;
    for (std::size_t i = 0; i * 37 < values.size(); ++i, ++compared) {
      off += std::abs(values[i * 37] - recorded[name][i].get<double>()) > 1e-6 ? 1 : 0;
    }
  };
  for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
    const Mlp& network = policy.*part.network;
    for (std::size_t k = 0; k < network.layers.size(); ++k) {
      const std::string name = std::string(part.published) +
                               (part.published == "policy_net" ? "" : "_" + std::to_string(k));
      compare(name + ".weight", network.layers[k].weight);
      compare(name + ".bias", network.layers[k].bias);
    }
  }
  EXPECT_GT(compared, 600U);
  EXPECT_LT(off, 1 + compared / 500);
}

}  // namespace neuroshard::testing
