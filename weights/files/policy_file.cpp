#include "neuroshard/policy_file.h"

#include <utility>

#include "neuroshard/error.h"
#include "weights/files/policy_networks.h"
#include "weights/files/read_file.h"
#include "weights/files/safetensors.h"

namespace neuroshard {
namespace {

constexpr std::string_view kPolicyFormat = "neuroshard policy";
constexpr const char* kPolicyMeans = "features.mean";
constexpr const char* kPolicyDeviations = "features.std";

}  // namespace

PlacementPolicy parse_trained_policy(std::string_view bytes, const std::string& where) {
  Safetensors contents = parse_safetensors(bytes, where);
  const auto take = [&](const char* key) {
    const auto node = contents.metadata.extract(key);
    return node.empty() ? std::string() : node.mapped();
  };
  if (take("format") != kPolicyFormat) {
    throw Error(where + ": the metadata's 'format' is not '" + std::string(kPolicyFormat) +
                "'; give a file that 'neuroshard train policy' has written");
  }
  const std::string algorithm = take("algorithm");
  PlacementPolicy policy;
  if (algorithm == "dreamshard") {
    policy.networks = take_networks<DreamshardPolicy>(contents.tensors, where);
  } else if (algorithm == "autoshard") {
    AutoshardPolicy networks = take_networks<AutoshardPolicy>(contents.tensors, where);
    networks.features = {take_tensor(contents.tensors, kPolicyMeans, 1, where).values,
                         take_tensor(contents.tensors, kPolicyDeviations, 1, where).values};
    policy.networks = std::move(networks);
  } else {
    throw Error(where + ": the metadata's 'algorithm' is '" + algorithm +
                "'; this program reads 'dreamshard' and 'autoshard'");
  }
  reject_leftovers(contents.tensors, where);
  policy.metadata = std::move(contents.metadata);
  validate(policy, where);
  return policy;
}

PlacementPolicy load_trained_policy(const std::filesystem::path& path) {
  return parse_trained_policy(read_file(path), path.string());
}

std::string serialize_policy(const PlacementPolicy& policy) {
  validate(policy, "policy");
  Safetensors contents;
  contents.metadata = policy.metadata;
  contents.metadata["format"] = kPolicyFormat;
  contents.metadata["algorithm"] = algorithm_of(policy);
  std::visit(
      [&]<typename Policy>(const Policy& networks) {
        for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
          put_mlp(contents.tensors, std::string(part.name), networks.*part.network);
        }
      },
      policy.networks);
  if (const auto* autoshard = std::get_if<AutoshardPolicy>(&policy.networks)) {
    put_vector(contents.tensors, kPolicyMeans, autoshard->features.mean);
    put_vector(contents.tensors, kPolicyDeviations, autoshard->features.std);
  }
  return serialize_safetensors(contents);
}

}  // namespace neuroshard
