#include "weights/files/mlp_tensors.h"

#include <utility>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

int layer_size(std::int64_t size, const std::string& place) {
  constexpr std::int64_t kMaxLayerSize = 1 << 20;
  if (size < 1 || size > kMaxLayerSize) {
    throw Error(place + ": a layer of " + std::to_string(size) + " units; give between 1 and " +
                std::to_string(kMaxLayerSize));
  }
  return static_cast<int>(size);
}

}  // namespace

Tensor take_tensor(TensorMap& tensors, const std::string& name, std::size_t rank,
                   const std::string& where) {
  auto node = tensors.extract(name);
  if (node.empty()) throw Error(where + ": the tensor '" + name + "' is missing");
  Tensor tensor = std::move(node.mapped());
  if (tensor.shape.size() != rank) {
    throw Error(where + ": tensor '" + name + "': has the shape " + shape_text(tensor.shape) +
                "; expected " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions"));
  }
  return tensor;
}

Mlp take_mlp(TensorMap& tensors, const std::string& prefix, const std::string& where) {
  Mlp mlp;
  do {
    const std::string layer_name = prefix + "." + std::to_string(mlp.layers.size());
    Tensor weight = take_tensor(tensors, layer_name + ".weight", 2, where);
    Tensor bias = take_tensor(tensors, layer_name + ".bias", 1, where);
    const std::string place = where + ": tensor '" + layer_name + ".weight'";
    DenseLayer layer;
    layer.outputs = layer_size(weight.shape[0], place);
    layer.inputs = layer_size(weight.shape[1], place);
    if (bias.shape[0] != weight.shape[0]) {
      throw Error(where + ": tensor '" + layer_name + ".bias': has " +
                  std::to_string(bias.shape[0]) + " values for the " +
                  std::to_string(weight.shape[0]) + " outputs of '" + layer_name + ".weight'");
    }
    layer.weight = std::move(weight.values);
    layer.bias = std::move(bias.values);
    mlp.layers.push_back(std::move(layer));
  } while (tensors.contains(prefix + "." + std::to_string(mlp.layers.size()) + ".weight"));
  return mlp;
}

void reject_leftovers(const TensorMap& tensors, const std::string& where) {
  if (tensors.empty()) return;
  throw Error(where + ": unknown tensor '" + tensors.begin()->first +
              "'; a layer may be missing before it, or the file is of another kind");
}

void put_mlp(TensorMap& tensors, const std::string& prefix, const Mlp& mlp) {
  for (std::size_t k = 0; k < mlp.layers.size(); ++k) {
    const DenseLayer& layer = mlp.layers[k];
    const std::string name = prefix + "." + std::to_string(k);
    tensors[name + ".weight"] = {{layer.outputs, layer.inputs}, layer.weight};
    put_vector(tensors, name + ".bias", layer.bias);
  }
}

void put_vector(TensorMap& tensors, const std::string& name, const std::vector<float>& values) {
  tensors[name] = {{static_cast<std::int64_t>(values.size())}, values};
}

}  // namespace neuroshard
