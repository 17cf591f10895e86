#pragma once

#include <string>

#include "core/policies/policy_parts.h"
#include "weights/files/mlp_tensors.h"
#include "weights/files/tensor.h"

namespace neuroshard {

/// Takes all networks of a policy out of `tensors`, by their names in our files. Throws Error
/// naming the tensor that is missing or has another shape.
template <typename Policy>
Policy take_networks(TensorMap& tensors, const std::string& where) {
  Policy policy;
  for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
    policy.*part.network = take_mlp(tensors, std::string(part.name), where);
  }
  return policy;
}

}  // namespace neuroshard
