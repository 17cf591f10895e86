#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "neuroshard/cost_models.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Numbers that a policy sees of a table: dim, rows, pooling factor, size, and its histogram.
inline constexpr int kPolicyFeatures = 21;

/// Networks of DreamShard (Zha et al., NeurIPS 2022). "Summed" is over the tables of a device; a
/// device without tables has one of features 0. docs/learned_strategies.md has the layers.
struct DreamshardPolicy {
  Mlp cost_tables;    ///< Features to an embedding, which is summed for the costs.
  Mlp forward;        ///< Sum to ms.
  Mlp communication;  ///< Sum to ms.
  Mlp backward;       ///< Sum to ms.
  Mlp overall;        ///< Maximum of all devices' sums to ms.
  Mlp cost_features;  ///< The three costs to features.
  Mlp policy_tables;  ///< Features to an embedding, which is summed for the choice.
  Mlp choice;         ///< Sum and cost features to a logit.
};

/// Networks of AutoShard (Zha et al., KDD 2022).
struct AutoshardPolicy {
  Normalization features;  ///< Normalises dims, rows and pooling factors, in this order.
  Mlp tables;              ///< Features to an embedding.
  Mlp progress;            ///< Share of the tables that are placed, to features.
  /// Layers of an LSTM: 64 inputs, 64 of the state and a 1, to gates i, f, g, o. The column of the
  /// 1 is the second of the two biases that a layer has.
  Mlp memory_0;
  Mlp memory_1;
  Mlp baseline;  ///< State to the return that is expected; for training alone.
  Mlp load;      ///< Predicted ms of a device and GiB of its tables, to features.
  Mlp choice;    ///< State, device, and their product, to a logit.
  Mlp cost;      ///< Sum of embeddings to ms.
};

/// Places whole tables on devices, one after the other, by networks that were trained for that.
struct PlacementPolicy {
  std::variant<DreamshardPolicy, AutoshardPolicy> networks;
  std::map<std::string, std::string> metadata;  ///< Metadata of its file.
};

/// "dreamshard" or "autoshard".
[[nodiscard]] std::string_view algorithm_of(const PlacementPolicy& policy);

/// Throws Error naming `where` and the network unless all have the published sizes and finite
/// numbers.
void validate(const PlacementPolicy& policy, const std::string& where);

}  // namespace neuroshard
#pragma GCC visibility pop
