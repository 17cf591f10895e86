#pragma once

#include <span>
#include <string_view>

#include "neuroshard/placement_policy.h"

namespace neuroshard {

/// A network of a policy: the only place that lists them.
template <typename Policy>
struct PolicyPart {
  std::string_view name;        ///< In our files.
  std::string_view published;   ///< Layer k is `published` + "_k" in published files.
  std::span<const int> widths;  ///< Inputs, then the outputs of each layer.
  bool relu_after_last;
  Mlp Policy::*network;
};

/// Specialised for both policies.
template <typename Policy>
[[nodiscard]] std::span<const PolicyPart<Policy>> policy_parts();
template <>
std::span<const PolicyPart<DreamshardPolicy>> policy_parts();
template <>
std::span<const PolicyPart<AutoshardPolicy>> policy_parts();

// Widths that networks share.
inline constexpr int kPolicyEmbedding = 32;
inline constexpr int kPolicyState = 64;
inline constexpr int kMemoryLayers = 2;
/// Inputs of a layer of the LSTM: those from below, the state, and a 1.
inline constexpr int kMemoryInputs = 2 * kPolicyState + 1;
/// Features that AutoShard normalises: dims, rows and pooling factors.
inline constexpr int kNormalizedFeatures = 3;

}  // namespace neuroshard
