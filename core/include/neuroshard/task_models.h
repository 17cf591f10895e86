#pragma once

#include <cstdint>
#include <optional>

#include "neuroshard/backend.h"
#include "neuroshard/comm_setting.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/node_links.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Least and most samples of an iteration whose costs can be predicted, by models of any batch.
inline constexpr std::int64_t kMinPricedBatch = 1024;
inline constexpr std::int64_t kMaxPricedBatch = std::int64_t{1} << 22;

/// Throws Error unless `models` know the cost of an iteration of `batch_size` samples. They know
/// kMinPricedBatch to kMaxPricedBatch samples, or just kDefaultBatchSize if they have the published
/// table features.
void require_batch(const CostModels& models, std::int64_t batch_size);

/// The network that the communication models were trained on, by their metadata
/// (docs/weights_format.md); nothing if they do not say. Throws Error if what they say is no
/// network.
[[nodiscard]] std::optional<NodeNetwork> known_network(const CostModels& models);
/// Writes the known network, or that it is not known, into the metadata.
void set_known_network(CostModels& models, const std::optional<NodeNetwork>& network);

/// The network of the models' hardware, by their metadata, if it is not the one that they were
/// trained on. Tasks that state no links have it. Throws Error as known_network() does.
[[nodiscard]] std::optional<NodeNetwork> hardware_network(const CostModels& models);
/// Writes the network of the hardware into the metadata.
void set_hardware_network(CostModels& models, const NodeNetwork& network);

/// The network whose costs the communication models predict: that of their setting, if it states
/// links, else the known one. Throws Error as known_network() does.
[[nodiscard]] std::optional<NodeNetwork> network_in_setting(const CostModels& models);

/// Adapts models to iterations, and nodes, of `setting`. `models` are for kDefaultBatchSize on the
/// network that they know, with fp32 values and 64-bit ids on the wire. Communication models are
/// adapted by scaled_comm(), and by NodeColumns where links are stated. Throws Error as
/// require_batch() does, if there are links but the models do not say what network they know, and
/// if there are links or other types but also prices of kinds.
[[nodiscard]] CostModels models_for(CostModels models, const CommSetting& setting);

/// Throws Error unless the models of `backend` are for the comm_setting() of `task` on their
/// hardware.
void require_setting(const Backend& backend, const Task& task);

/// Throws Error unless `backend` can price tables that every device holds.
void require_replicas(const Backend& backend);

}  // namespace neuroshard
#pragma GCC visibility pop
