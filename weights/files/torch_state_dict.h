#pragma once

#include <string>

#include "weights/files/tensor.h"
#include "weights/files/torch_file.h"

namespace neuroshard {

/// The network parameters under `key` of the root, or at the root if it is empty, by name. Throws
/// Error naming the file.
[[nodiscard]] TensorMap read_state_dict(TorchFile& file, const std::string& key);

/// The number under `name` of the dict under `key`. Throws Error naming the file and both.
[[nodiscard]] float read_number(const TorchFile& file, const std::string& key,
                                const std::string& name);

}  // namespace neuroshard
