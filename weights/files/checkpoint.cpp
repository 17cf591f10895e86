#include <utility>

#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "weights/files/mlp_tensors.h"
#include "weights/files/read_file.h"
#include "weights/files/torch_state_dict.h"

namespace neuroshard {
namespace {

std::vector<float> read_vector(TorchFile& file, const std::string& key) {
  const auto id = pickle::find(file.pickle(), file.root(), key, file.where());
  Tensor tensor = file.tensor(id, key);
  if (tensor.shape.size() != 1) {
    throw Error(file.where() + ": " + key + ": has the shape " + shape_text(tensor.shape) +
                "; expected 1 dimension");
  }
  return std::move(tensor.values);
}

Normalization read_normalization(TorchFile& file) {
  return {read_vector(file, "feature_means"), read_vector(file, "feature_stds")};
}

std::int64_t read_integer(const TorchFile& file, const std::string& key) {
  const auto id = pickle::find(file.pickle(), file.root(), key, file.where());
  const auto* value = file.pickle().get_if<std::int64_t>(id);
  if (value == nullptr) throw Error(file.where() + ": " + key + ": is not an integer");
  return *value;
}

/// The sizes written beside the weights say the same once more; a file where they differ has been
/// tampered with or mixed up.
void require_count(const TorchFile& file, const std::string& key, int expected) {
  const std::int64_t found = read_integer(file, key);
  if (found == expected) return;
  throw Error(file.where() + ": " + key + ": is " + std::to_string(found) +
              ", but the weights have " + std::to_string(expected));
}

}  // namespace

ComputeModel parse_compute_checkpoint(std::string_view bytes, const std::string& where) {
  TorchFile file(bytes, where);
  TensorMap tensors = read_state_dict(file, "state_dict");
  ComputeModel compute;
  compute.features = read_normalization(file);
  compute.table_network = take_mlp(tensors, "t_hidden", where);
  compute.head = take_mlp(tensors, "c_hidden", where);
  reject_leftovers(tensors, where);
  require_count(file, "num_table_features", compute.table_network.inputs());
  validate(compute, where);
  return compute;
}

CommCheckpoint parse_comm_checkpoint(std::string_view bytes, const std::string& where) {
  TorchFile file(bytes, where);
  TensorMap tensors = read_state_dict(file, "state_dict");
  CommCheckpoint comm;
  comm.network.features = read_normalization(file);
  comm.network.network = take_mlp(tensors, "hidden", where);
  reject_leftovers(tensors, where);
  const Mlp& network = comm.network.network;
  comm.devices = network.outputs();
  require_count(file, "ndevices", comm.devices);
  require_count(file, "num_features", network.inputs());
  if (comm.devices > kMostDevicesOfModels) {
    throw Error(where + ": ndevices: is " + std::to_string(comm.devices) + "; at most " +
                std::to_string(kMostDevicesOfModels) + " are supported");
  }
  if (network.inputs() == 2 * comm.devices) {
    comm.direction = CommDirection::kForward;
  } else if (network.inputs() == comm.devices) {
    comm.direction = CommDirection::kBackward;
  } else {
    throw Error(where + ": num_features: is " + std::to_string(network.inputs()) +
                "; a model for " + std::to_string(comm.devices) +
                " devices has that many (backward) or twice that " + "many (forward)");
  }
  validate(comm.network, network.inputs(), comm.devices, where);
  return comm;
}

ComputeModel load_compute_checkpoint(const std::filesystem::path& path) {
  return parse_compute_checkpoint(read_file(path), path.string());
}

CommCheckpoint load_comm_checkpoint(const std::filesystem::path& path) {
  return parse_comm_checkpoint(read_file(path), path.string());
}

void add_comm_checkpoints(CostModels& models, const std::filesystem::path& forward_comm,
                          const std::filesystem::path& backward_comm) {
  CommCheckpoint forward = load_comm_checkpoint(forward_comm);
  CommCheckpoint backward = load_comm_checkpoint(backward_comm);
  // A forward network for 2 devices takes as many features as a backward one for 4, but its outputs
  // tell the two apart.
  if (forward.direction != CommDirection::kForward) {
    throw Error(forward_comm.string() + ": is a backward model; give the forward one here");
  }
  if (backward.direction != CommDirection::kBackward) {
    throw Error(backward_comm.string() + ": is a forward model; give the backward one here");
  }
  if (forward.devices != backward.devices) {
    throw Error(backward_comm.string() + ": is for " + std::to_string(backward.devices) +
                " devices, but " + forward_comm.string() + " is for " +
                std::to_string(forward.devices) + "; give two of one kind");
  }
  models.dense_comm[forward.devices] = {std::move(forward.network), std::move(backward.network)};
}

CostModels load_checkpoints(const std::filesystem::path& compute,
                            const std::filesystem::path& forward_comm,
                            const std::filesystem::path& backward_comm) {
  CostModels models;
  models.compute = load_compute_checkpoint(compute);
  add_comm_checkpoints(models, forward_comm, backward_comm);
  models.metadata["source"] = "PyTorch checkpoints " + compute.filename().string() + ", " +
                              forward_comm.filename().string() + ", " +
                              backward_comm.filename().string();
  return models;
}

}  // namespace neuroshard
