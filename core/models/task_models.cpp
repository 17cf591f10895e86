#include "neuroshard/task_models.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "core/models/link_rates.h"
#include "core/tables/node_link_fields.h"
#include "neuroshard/comm_scaling.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr const char* kDevicesPerNodeKey = "network.devices_per_node";
constexpr const char* kInNodeKey = "network.in_node_gb_s";
constexpr const char* kBetweenNodesKey = "network.between_nodes_gb_s";
constexpr const char* kHardwareNodesKey = "hardware.devices_per_node";

std::string hardware_key(const NodeLinkField& field) {
  return std::string("hardware.") + field.name;
}

std::string samples_text(std::int64_t samples) {
  return format_count(static_cast<std::uint64_t>(samples));
}

/// The number that the metadata have under `key`; nothing if they lack it.
std::optional<double> metadata_number(const CostModels& models, const std::string& key, double low,
                                      double high) {
  const auto found = models.metadata.find(key);
  if (found == models.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  const std::optional<double> value = number_in<double>(text);
  if (!value || !(*value >= low) || *value > high) {
    throw Error("cost models: the metadata's '" + key + "' is '" + text +
                "'; expected a number from " + shortest_text(low) + " to " + shortest_text(high));
  }
  return value;
}

/// The number of devices that the metadata have under `key`; nothing if they lack it.
std::optional<int> metadata_devices(const CostModels& models, const std::string& key) {
  const std::optional<double> devices = metadata_number(models, key, 1.0, kMaxDevices);
  if (!devices) return std::nullopt;
  if (*devices == std::floor(*devices)) return static_cast<int>(*devices);
  throw Error("cost models: the metadata's '" + key + "' is '" + models.metadata.at(key) +
              "'; expected a whole number");
}

/// The line for one device is what devices do by themselves; what lines have beyond it is
/// communication.
void put_on_nodes(CollectiveModel& model, const NodeNetwork& known, const NodeLinks& links,
                  int devices_per_node) {
  const auto alone = model.lines.find(1);
  const double alone_rate = alone == model.lines.end() ? 0.0 : alone->second.ms_per_gib;
  for (auto& [devices, line] : model.lines) {
    if (devices == 1) continue;
    const FilledNodes nodes(devices, devices_per_node);
    const FilledNodes known_nodes(devices, known.devices_per_node);
    const double factor =
        all_reduce_ms_per_mb(nodes, links) / all_reduce_ms_per_mb(known_nodes, known.links);
    line.ms_per_gib = alone_rate + factor * std::max(0.0, line.ms_per_gib - alone_rate);
    const double longer_ms = all_reduce_base_ms(nodes) - all_reduce_base_ms(known_nodes);
    line.latency_ms = std::max(0.0, line.latency_ms + longer_ms);
  }
}

void delay(Mlp& network, double ms) {
  for (float& bias : network.layers.back().bias) bias = static_cast<float>(bias + ms);
}

/// Makes all costs so much longer.
void delay(CommModel& model, double ms) {
  for (CommNetwork* network : {&model.forward, &model.backward}) {
    std::visit([&](auto& of_kind) { delay(of_kind.network, ms); }, *network);
  }
}

}  // namespace

void require_batch(const CostModels& models, std::int64_t batch) {
  if (batch == kDefaultBatchSize) return;
  if (!models.compute.any_batch()) {
    throw Error("batch_size is " + std::to_string(batch) +
                ", but these cost models know batches of " + samples_text(kDefaultBatchSize) +
                " samples only; leave batch_size out, or take weights of any batch, such as the "
                "built-in ones");
  }
  if (batch < kMinPricedBatch || batch > kMaxPricedBatch) {
    throw Error("batch_size is " + std::to_string(batch) + "; costs can be predicted for " +
                samples_text(kMinPricedBatch) + " to " + samples_text(kMaxPricedBatch) +
                " samples; give a number between them");
  }
}

std::optional<NodeNetwork> known_network(const CostModels& models) {
  const auto number = [&](const char* key, double low, double high) {
    return metadata_number(models, key, low, high);
  };
  const std::optional<int> devices = metadata_devices(models, kDevicesPerNodeKey);
  const auto in_node = number(kInNodeKey, kLeastGbPerSecond, kMostGbPerSecond);
  const auto between = number(kBetweenNodesKey, kLeastGbPerSecond, kMostGbPerSecond);
  if (!devices || !in_node || !between) return std::nullopt;
  return NodeNetwork{*devices, {*in_node, *between}};
}

std::optional<NodeNetwork> hardware_network(const CostModels& models) {
  const std::optional<int> devices = metadata_devices(models, kHardwareNodesKey);
  if (!devices) return std::nullopt;
  NodeNetwork network{.devices_per_node = *devices};
  for (const NodeLinkField& field : kNodeLinkFields) {
    network.links.*field.gb_s =
        metadata_number(models, hardware_key(field), kLeastGbPerSecond, kMostGbPerSecond)
            .value_or(0.0);
  }
  if (network.links.in_node_gb_s == 0.0 || network.links.between_nodes_gb_s == 0.0) {
    throw Error("cost models: the metadata have '" + std::string(kHardwareNodesKey) +
                "'; expected 'hardware.in_node_gb_s' and 'hardware.between_nodes_gb_s', too");
  }
  return network;
}

void set_hardware_network(CostModels& models, const NodeNetwork& network) {
  models.metadata[kHardwareNodesKey] = std::to_string(network.devices_per_node);
  for (const NodeLinkField& field : kNodeLinkFields) {
    const double gb_s = network.links.*field.gb_s;
    if (gb_s > 0.0) models.metadata[hardware_key(field)] = shortest_text(gb_s);
  }
}

NodeLinks NodeNetwork::links_with(NodeLinks stated) const {
  for (const NodeLinkField& field : kNodeLinkFields) {
    if (stated.*field.gb_s == 0.0) stated.*field.gb_s = links.*field.gb_s;
  }
  if (stated.levels.empty()) stated.levels = links.levels;
  return stated;
}

void set_known_network(CostModels& models, const std::optional<NodeNetwork>& network) {
  for (const char* key : {kDevicesPerNodeKey, kInNodeKey, kBetweenNodesKey}) {
    models.metadata.erase(key);
  }
  if (!network) return;
  models.metadata[kDevicesPerNodeKey] = std::to_string(network->devices_per_node);
  models.metadata[kInNodeKey] = shortest_text(network->links.in_node_gb_s);
  models.metadata[kBetweenNodesKey] = shortest_text(network->links.between_nodes_gb_s);
}

std::optional<NodeNetwork> network_in_setting(const CostModels& models) {
  std::optional<NodeNetwork> network = known_network(models);
  const CommSetting& setting = models.setting;
  if (!network || setting.devices_per_node == 0) return network;
  return NodeNetwork{setting.devices_per_node, network->links_with(setting.links)};
}

CostModels models_for(CostModels models, const CommSetting& setting) {
  require_batch(models, setting.batch_size);
  if (setting.devices_per_node == 0 && hardware_network(models)) {
    throw Error(
        "these cost models are of hardware with a network of its own; make the setting of "
        "comm_setting(task, hardware_network(models))");
  }
  models.setting = setting;
  double factor = 1.0;
  double delay_ms = 0.0;
  const ExchangeTypes trained;
  if (setting.exchange != trained && !models.kind_prices.empty()) {
    throw Error(
        "the task states types on the wire, but the cost models' prices of row blocks or replicas "
        "are those of one exchange; leave `exchange` out, or take other weights");
  }
  if (setting.devices_per_node > 0) {
    if (!models.kind_prices.empty()) {
      throw Error(
          "the task states links, but the cost models' prices of row blocks or replicas are those "
          "of one network; leave the links out, or take other weights");
    }
    const std::optional<NodeNetwork> known = known_network(models);
    if (!known) {
      throw Error(
          "the task states links, but the cost models do not say which network they know; train "
          "them with --devices-per-node, --in-node-gb-s and --between-nodes-gb-s, or leave the "
          "links out");
    }
    const NodeLinks links = known->links_with(setting.links);
    if (setting.nodes_anywhere) {
      factor *=
          NodeColumns::factor_anywhere(*known, {setting.devices_per_node, links}, setting.devices);
    } else {
      NodeColumns nodes(*known, links, setting.devices, setting.devices_per_node);
      factor *= nodes.factor();
      if (!nodes.same()) models.nodes = std::move(nodes);
    }
    if (models.all_reduce) {
      put_on_nodes(*models.all_reduce, *known, links, setting.devices_per_node);
    }
    const FilledNodes known_nodes(setting.devices, known->devices_per_node);
    const FilledNodes stated_nodes(setting.devices, setting.devices_per_node);
    delay_ms = all_to_all_base_ms(stated_nodes.count) - all_to_all_base_ms(known_nodes.count);
  }
  if (models.ids) {
    for (auto& [devices, line] : models.ids->lines) {
      line.ms_per_gib *= factor;
      line.latency_ms = std::max(0.0, line.latency_ms + delay_ms);
    }
  }
  factor *= static_cast<double>(setting.batch_size) / static_cast<double>(kDefaultBatchSize);
  const CommFactors factors{
      factor * (setting.exchange.forward_column_bytes() / trained.forward_column_bytes()),
      factor * (setting.exchange.backward_column_bytes() / trained.backward_column_bytes()),
      setting.column_unit};
  models.forward_scale = factors.forward * factors.column_unit;
  for (auto& [devices, model] : models.dense_comm) model = scaled_comm(model, devices, factors);
  if (models.symmetric_comm) {
    models.symmetric_comm = scaled_comm(*models.symmetric_comm, setting.devices, factors);
  }
  if (delay_ms == 0.0) return models;
  for (auto& [devices, model] : models.dense_comm) delay(model, delay_ms);
  if (models.symmetric_comm) delay(*models.symmetric_comm, delay_ms);
  return models;
}

void require_setting(const Backend& backend, const Task& task) {
  const CommSetting setting = comm_setting(task, backend.hardware_network());
  const std::string remedy =
      "; make one of models_for(models, comm_setting(task, hardware_network(models)))";
  if (setting.batch_size != backend.comm_setting().batch_size) {
    throw Error("batch_size is " + std::to_string(task.batch_size) +
                ", but the backend has models for " +
                samples_text(backend.comm_setting().batch_size) + " samples" + remedy);
  }
  if (setting != backend.comm_setting()) {
    throw Error(
        "the backend has models for other devices, other nodes, links, types on the wire, or "
        "numbers of columns, than the task's" +
        remedy);
  }
}

void require_replicas(const Backend& backend) {
  if (backend.prices_replicas()) return;
  throw Error(std::string("these cost models do not ") +
              (backend.all_reduce() == nullptr ? "price all-reduces"
                                               : "know operators of a device's part of the batch") +
              ", so plans with replicated tables have no cost; use weights that do, such as the "
              "built-in ones");
}

}  // namespace neuroshard
