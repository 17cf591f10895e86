#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace neuroshard {

/// A named array of a weights file or a checkpoint, row-major.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// By name. Sorted, so that equal models make equal files.
using TensorMap = std::map<std::string, Tensor>;

/// "[128, 20]"
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace neuroshard
