#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "neuroshard/collective_model.h"
#include "neuroshard/comm_setting.h"
#include "neuroshard/kind_prices.h"
#include "neuroshard/node_columns.h"
#include "neuroshard/table_features.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Most devices of models for one number of devices, of lines of an all-reduce and of samples.
/// Symmetric models take more devices for as many.
inline constexpr int kMostDevicesOfModels = 1024;

/// A fully connected layer, `outputs x inputs` weights in row-major order as in PyTorch.
struct DenseLayer {
  int inputs = 0;
  int outputs = 0;
  std::vector<float> weight;
  std::vector<float> bias;
};

/// Layers with ReLU between them.
struct Mlp {
  std::vector<DenseLayer> layers;

  [[nodiscard]] int inputs() const { return layers.empty() ? 0 : layers.front().inputs; }
  [[nodiscard]] int outputs() const { return layers.empty() ? 0 : layers.back().outputs; }
};

/// Inputs enter a network as `(x - mean) / std`, in fp32.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> std;
};

/// Cost of the fused embedding operator for the tables of one device ("compute cost").
/// cost_ms = head(sum over tables of ReLU(table_network(features))).
struct ComputeModel {
  Normalization features;
  /// kTableFeatures or kOperatorFeatures -> ... -> embedding width, ReLU after *every* layer.
  Mlp table_network;
  Mlp head;  ///< embedding width -> ... -> 1, no ReLU after the last layer.

  /// Whether it knows operators of any number of samples, not of kDefaultBatchSize alone.
  [[nodiscard]] bool any_batch() const { return table_network.inputs() == kOperatorFeatures; }
};

/// The published communication network: all devices in, all costs out, for one device count.
/// Backward input: D dim sums. Forward input: D dim sums, then D start offsets (ms).
struct DenseCommNetwork {
  Normalization features;
  Mlp network;
};

/// One network shared by all devices and all device counts. Inputs for a device are its dim sum;
/// its start offset (ms); mean, max and min of all dim sums; mean and max of all start offsets; and
/// log2 of the device count. A count above one node is rounded up to whole nodes of 8. There is one
/// output. Backward: all start offsets are 0.
struct SymmetricCommNetwork {
  Normalization features;
  Mlp network;
};
inline constexpr int kSymmetricCommFeatures = 8;

using CommNetwork = std::variant<DenseCommNetwork, SymmetricCommNetwork>;

/// Cost of the all-to-all of one training step, per device.
struct CommModel {
  CommNetwork forward;
  CommNetwork backward;
};

/// Everything that the search needs to know of the hardware.
struct CostModels {
  ComputeModel compute;
  std::map<int, CommModel> dense_comm;      ///< Keys: device counts.
  std::optional<CommModel> symmetric_comm;  ///< Serves every other device count.
  /// Prices tables that every device holds: the all-reduce of their dense gradients, with the
  /// optimizer's pass over all their weights.
  std::optional<CollectiveModel> all_reduce{};
  /// Prices the exchange of ids, if they are priced; nothing: the backward model does.
  std::optional<CollectiveModel> ids{};
  KindPrices kind_prices{};            ///< Price shards that the other models do not.
  CommSetting setting{};               ///< The communication models are for it (models_for()).
  std::optional<NodeColumns> nodes{};  ///< Columns as they see them; nothing: as they are.
  std::map<std::string, std::string> metadata;  ///< hardware, source, batch size, ... Free text.
  /// Factor by which outputs take longer in `setting` than in what metadata say of samples.
  double forward_scale = 1.0;

  /// The model for `devices` devices: the dense one if there is one, else the symmetric one.
  /// Throws Error listing the supported device counts.
  [[nodiscard]] const CommModel& comm_for(int devices) const;
  [[nodiscard]] bool has_comm_for(int devices) const;

  /// Whether the time of the all-to-all of the ids is part of costs. The published cost, and that
  /// of all models with the published table features, leaves it out.
  [[nodiscard]] bool prices_ids() const { return compute.any_batch(); }
  /// Whether they price tables that every device holds.
  [[nodiscard]] bool prices_replicas() const {
    return all_reduce && (compute.any_batch() || kind_prices.contains(ShardingKind::kReplicate));
  }
};

/// Text "`place` (hardware: ...; source: ...)": where models were found, and what they were trained
/// on as far as the metadata say.
[[nodiscard]] std::string origin_of(const CostModels& models, const std::string& place);

/// Throws Error naming the network and layer if shapes do not fit together or a number is not
/// finite.
void validate(const CostModels& models, const std::string& where = "");
void validate(const ComputeModel& model, const std::string& where = "");
/// `inputs`: `devices` for a backward network, twice that for a forward one.
void validate(const DenseCommNetwork& network, int inputs, int devices,
              const std::string& where = "");

}  // namespace neuroshard
#pragma GCC visibility pop
