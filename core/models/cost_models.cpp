#include "neuroshard/cost_models.h"

#include <algorithm>
#include <cmath>

#include "core/models/comm_choice.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

void validate(const Mlp& mlp, int inputs, int outputs, const std::string& where) {
  if (mlp.layers.empty()) throw Error(where + ": has no layers");
  int width = inputs;
  for (std::size_t k = 0; k < mlp.layers.size(); ++k) {
    const DenseLayer& layer = mlp.layers[k];
    const std::string label = where + ": layer " + std::to_string(k);
    if (layer.inputs != width) {
      throw Error(label + ": takes " + std::to_string(layer.inputs) + " inputs, but " +
                  std::to_string(width) + " arrive");
    }
    if (layer.outputs < 1) throw Error(label + ": has no outputs");
    const std::size_t weights =
        static_cast<std::size_t>(layer.inputs) * static_cast<std::size_t>(layer.outputs);
    if (layer.weight.size() != weights ||
        layer.bias.size() != static_cast<std::size_t>(layer.outputs)) {
      throw Error(label + ": has " + std::to_string(layer.weight.size()) + " weights and " +
                  std::to_string(layer.bias.size()) + " biases for a shape of " +
                  std::to_string(layer.outputs) + " x " + std::to_string(layer.inputs));
    }
    if (!all_finite(layer.weight) || !all_finite(layer.bias)) {
      throw Error(label + ": a weight is NaN or infinite; train or convert the model again");
    }
    width = layer.outputs;
  }
  if (outputs > 0 && width != outputs) {
    throw Error(where + ": ends in " + std::to_string(width) + " outputs; expected " +
                std::to_string(outputs));
  }
}

void validate(const Normalization& features, int inputs, const std::string& where) {
  const std::size_t count = static_cast<std::size_t>(inputs);
  if (features.mean.size() != count || features.std.size() != count) {
    throw Error(where + ": has " + std::to_string(features.mean.size()) + " feature means and " +
                std::to_string(features.std.size()) + " standard deviations; expected " +
                std::to_string(inputs));
  }
  if (!all_finite(features.mean) || !all_finite(features.std)) {
    throw Error(where + ": a feature mean or standard deviation is NaN or infinite");
  }
  if (std::any_of(features.std.begin(), features.std.end(), [](float x) { return x <= 0.0F; })) {
    throw Error(where + ": a feature standard deviation is not positive");
  }
}

void validate(const CommNetwork& network, int dense_inputs, int devices, const std::string& where) {
  if (const auto* dense = std::get_if<DenseCommNetwork>(&network)) {
    if (devices == 0) throw Error(where + ": a symmetric model cannot hold a dense network");
    validate(*dense, dense_inputs, devices, where);
  } else {
    if (devices != 0) throw Error(where + ": a dense model cannot hold a symmetric network");
    const auto& symmetric = std::get<SymmetricCommNetwork>(network);
    validate(symmetric.features, kSymmetricCommFeatures, where);
    validate(symmetric.network, kSymmetricCommFeatures, 1, where);
  }
}

}  // namespace

bool CostModels::has_comm_for(int devices) const {
  return dense_comm.contains(devices) || symmetric_comm.has_value();
}

const CommModel& CostModels::comm_for(int devices) const {
  return comm_model_for(dense_comm, symmetric_comm, devices);
}

void validate(const ComputeModel& model, const std::string& where) {
  const std::string label = (where.empty() ? "" : where + ": ") + "compute model";
  const int inputs = model.table_network.inputs();
  if (inputs != kOperatorFeatures && inputs != kTableFeatures) {
    throw Error(label + ", table network: takes " + std::to_string(inputs) + " inputs; expected " +
                std::to_string(kTableFeatures) + " published table features or " +
                std::to_string(kOperatorFeatures) + " of operators");
  }
  validate(model.features, inputs, label);
  validate(model.table_network, inputs, 0, label + ", table network");
  validate(model.head, model.table_network.outputs(), 1, label + ", head");
}

void validate(const DenseCommNetwork& network, int inputs, int devices, const std::string& where) {
  validate(network.features, inputs, where);
  validate(network.network, inputs, devices, where);
}

std::string origin_of(const CostModels& models, const std::string& place) {
  std::string trained_on;
  for (const char* key : {"hardware", "source"}) {
    const auto found = models.metadata.find(key);
    if (found == models.metadata.end() || found->second.empty()) continue;
    trained_on += (trained_on.empty() ? "" : "; ") + std::string(key) + ": " + found->second;
  }
  return trained_on.empty() ? place : place + " (" + trained_on + ")";
}

void validate(const CostModels& models, const std::string& where) {
  const std::string prefix = where.empty() ? "" : where + ": ";
  validate(models.compute, where);
  for (const auto& [devices, comm] : models.dense_comm) {
    const std::string label =
        prefix + "communication model for " + std::to_string(devices) + " devices";
    if (devices < 1 || devices > kMostDevicesOfModels) {
      throw Error(label + ": give between 1 and " + std::to_string(kMostDevicesOfModels) +
                  " devices");
    }
    validate(comm.forward, 2 * devices, devices, label + ", forward");
    validate(comm.backward, devices, devices, label + ", backward");
  }
  if (models.symmetric_comm) {
    const CommModel& comm = *models.symmetric_comm;
    validate(comm.forward, 0, 0, prefix + "symmetric communication model, forward");
    validate(comm.backward, 0, 0, prefix + "symmetric communication model, backward");
  }
  if (models.all_reduce) validate(*models.all_reduce, prefix + "all-reduce model");
  if (models.ids) validate(*models.ids, prefix + "model of ids");
  validate(models.kind_prices, where);
}

}  // namespace neuroshard
