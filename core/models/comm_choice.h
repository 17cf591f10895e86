#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/base/message_text.h"
#include "neuroshard/error.h"

namespace neuroshard {

/// The rule by which communication models are chosen, for models in any form: the one for just
/// `devices` devices, else the symmetric one. Throws Error listing the device counts there are.
template <typename Model>
const Model& comm_model_for(const std::map<int, Model>& dense,
                            const std::optional<Model>& symmetric, int devices) {
  if (const auto found = dense.find(devices); found != dense.end()) return found->second;
  if (symmetric.has_value()) return *symmetric;
  const std::string known = joined(dense, ", ", &std::map<int, Model>::value_type::first);
  throw Error("no communication model for " + std::to_string(devices) +
              " devices; the weights have " + (known.empty() ? "none" : "one for " + known));
}

}  // namespace neuroshard
