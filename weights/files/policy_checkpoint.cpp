#include <utility>

#include "neuroshard/error.h"
#include "neuroshard/policy_file.h"
#include "weights/files/policy_networks.h"
#include "weights/files/read_file.h"
#include "weights/files/torch_state_dict.h"

namespace neuroshard {
namespace {

void rename_tensor(TensorMap& tensors, const std::string& from, const std::string& to) {
  auto node = tensors.extract(from);
  if (node.empty()) return;  // A missing tensor is reported under its name in our files.
  node.key() = to;
  tensors.insert(std::move(node));
}

/// The names of our files in the place of the published ones.
template <typename Policy>
void rename_published(TensorMap& tensors) {
  for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
    const std::size_t layers = part.widths.size() - 1;
    for (std::size_t k = 0; k < layers; ++k) {
      // DreamShard's only layer without a number.
      const std::string layer = std::string(part.published) +
                                (part.published == "policy_net" ? "" : "_" + std::to_string(k));
      for (const char* of : {".weight", ".bias"}) {
        rename_tensor(tensors, layer + of, std::string(part.name) + "." + std::to_string(k) + of);
      }
    }
  }
}

/// Joins what torch keeps of layer `l` of an LSTM to one layer of ours.
void join_memory(TensorMap& tensors, int l, const std::string& where) {
  const std::string layer = "_l" + std::to_string(l);
  const auto take = [&](const char* name, std::size_t rank) {
    return take_tensor(tensors, "core." + (name + layer), rank, where);
  };
  const Tensor from_below = take("weight_ih", 2);
  const Tensor from_state = take("weight_hh", 2);
  const Tensor bias = take("bias_ih", 1);
  const Tensor second_bias = take("bias_hh", 1);
  constexpr std::int64_t kGates = 4 * kPolicyState;
  const std::vector<std::int64_t> weights{kGates, kPolicyState};
  const std::vector<std::int64_t> biases{kGates};
  if (from_below.shape != weights || from_state.shape != weights || bias.shape != biases ||
      second_bias.shape != biases) {
    throw Error(where + ": tensors of 'core', layer " + std::to_string(l) +
                ": expected the shapes " + shape_text(weights) + " and " + shape_text(biases) +
                " of AutoShard's LSTM");
  }
  Tensor joined{{kGates, kMemoryInputs}, {}};
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    for (const Tensor* part : {&from_below, &from_state}) {
      const auto row = part->values.begin() + static_cast<std::ptrdiff_t>(gate * kPolicyState);
      joined.values.insert(joined.values.end(), row, row + kPolicyState);
    }
    joined.values.push_back(second_bias.values[gate]);
  }
  const std::string name = "memory_" + std::to_string(l) + ".0";
  tensors[name + ".weight"] = std::move(joined);
  tensors[name + ".bias"] = bias;
}

PlacementPolicy published_policy(std::string_view bytes, const std::string& where) {
  TorchFile file(bytes, where);
  const bool is_autoshard = pickle::contains(file.pickle(), file.root(), "model_state_dict");
  TensorMap tensors = read_state_dict(file, is_autoshard ? "model_state_dict" : "");
  PlacementPolicy policy;
  if (is_autoshard) {
    rename_published<AutoshardPolicy>(tensors);
    for (int l = 0; l < kMemoryLayers; ++l) join_memory(tensors, l, where);
    AutoshardPolicy networks = take_networks<AutoshardPolicy>(tensors, where);
    for (const char* name : {"dims", "rows", "pooling_factors"}) {
      networks.features.mean.push_back(read_number(file, "feature_means", name));
      networks.features.std.push_back(read_number(file, "feature_stds", name));
    }
    policy.networks = std::move(networks);
  } else if (tensors.contains("t_fc_0.weight")) {
    throw Error(where +
                ": has AutoShard's networks, but not the feature_means and feature_stds that they "
                "need; give its model.tar, where they are beside model_state_dict");
  } else {
    rename_published<DreamshardPolicy>(tensors);
    // Published files have it, and no program uses it.
    tensors.erase("value_net.weight");
    tensors.erase("value_net.bias");
    policy.networks = take_networks<DreamshardPolicy>(tensors, where);
  }
  reject_leftovers(tensors, where);
  policy.metadata["source"] = "checkpoint of the published program";
  return policy;
}

}  // namespace

PlacementPolicy parse_policy(std::string_view bytes, const std::string& where) {
  if (!bytes.starts_with("PK")) return parse_trained_policy(bytes, where);
  PlacementPolicy policy = published_policy(bytes, where);
  validate(policy, where);
  return policy;
}

PlacementPolicy load_policy(const std::filesystem::path& path) {
  return parse_policy(read_file(path), path.string());
}

}  // namespace neuroshard
