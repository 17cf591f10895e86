#pragma once

#include <string>

#include "neuroshard/cost_models.h"
#include "weights/files/tensor.h"

namespace neuroshard {

/// Removes `name` from `tensors`. Throws Error naming `where` and the tensor if it is missing or
/// has not `rank` dimensions.
[[nodiscard]] Tensor take_tensor(TensorMap& tensors, const std::string& name, std::size_t rank,
                                 const std::string& where);

/// Removes the layers `prefix`.0.weight, `prefix`.0.bias, `prefix`.1.weight, ... Throws Error if
/// there is none or a half of one. Shapes from layer to layer are for `validate` to check.
[[nodiscard]] Mlp take_mlp(TensorMap& tensors, const std::string& prefix, const std::string& where);

/// Throws Error naming the first tensor that is left.
void reject_leftovers(const TensorMap& tensors, const std::string& where);

void put_mlp(TensorMap& tensors, const std::string& prefix, const Mlp& mlp);
void put_vector(TensorMap& tensors, const std::string& name, const std::vector<float>& values);

}  // namespace neuroshard
