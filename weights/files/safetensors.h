#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weights/files/tensor.h"

namespace neuroshard {

/// Contents of a file in the safetensors format, fp32 only.
struct Safetensors {
  TensorMap tensors;
  std::map<std::string, std::string> metadata;
};

/// Throws Error naming `where` and the tensor unless the header is sound, every tensor is F32, and
/// the tensors cover the data exactly: no gap, no overlap, nothing after the last one.
[[nodiscard]] Safetensors parse_safetensors(std::string_view bytes, const std::string& where);

/// Tensors are laid out in order of their names.
[[nodiscard]] std::string serialize_safetensors(const Safetensors& contents);

}  // namespace neuroshard
