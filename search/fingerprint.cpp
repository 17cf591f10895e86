#include "neuroshard/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/fingerprint.h"
#include "core/tables/node_link_fields.h"
#include "core/tables/table_groups.h"
#include "neuroshard/task_models.h"
#include "search/default_cuts.h"

namespace neuroshard {
namespace {

/// Items of docs/fingerprint.md. Numbers are spelt out byte by byte, lowest first, since machines
/// differ in how they keep them.
class Items {
 public:
  void add(std::string_view text) { hash_.add(text); }
  void add_integer(std::uint64_t value) { hash_.add(bytes_of<8>(value)); }
  void add_float(float value) {
    // Comparing equal, the two zeros are one value.
    hash_.add(bytes_of<4>(std::bit_cast<std::uint32_t>(value == 0.0F ? 0.0F : value)));
  }
  void add_floats(std::span<const float> values) {
    add_integer(values.size());
    for (const float value : values) add_float(value);
  }

  [[nodiscard]] std::uint64_t value() const { return hash_.value(); }

 private:
  template <unsigned kBytes>
  std::string_view bytes_of(std::uint64_t value) {
    for (unsigned i = 0; i < kBytes; ++i) bytes_[i] = static_cast<char>(value >> (8 * i) & 0xffU);
    return {bytes_.data(), kBytes};
  }

  Fingerprint hash_;
  std::array<char, 8> bytes_{};
};

void add_device_set(Items& items, std::string_view name, std::vector<int> devices) {
  if (devices.empty()) return;
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  items.add(name);
  items.add_integer(devices.size());
  for (const int device : devices) items.add_integer(static_cast<std::uint64_t>(device));
}

/// Those that are there.
void add_rules(Items& items, const TableRules& rules) {
  if (rules.no_split) items.add("no_split");
  if (rules.min_width > 0) {
    items.add("min_width");
    items.add_integer(static_cast<std::uint64_t>(rules.min_width));
  }
  if (rules.max_slices > 0) {
    items.add("max_slices");
    items.add_integer(static_cast<std::uint64_t>(rules.max_slices));
  }
  add_device_set(items, "devices", rules.devices);
  add_device_set(items, "not_devices", rules.not_devices);
  add_device_set(items, "nodes", rules.nodes);
  add_device_set(items, "not_nodes", rules.not_nodes);
  if (rules.kinds.empty()) return;
  items.add("kinds");
  for (const ShardingKind kind : all_sharding_kinds()) {
    if (rules.allow(kind)) items.add(name_of(kind));
  }
}

/// By the features of the networks, in fp32: what is below their last bit, such as how a machine's
/// mathematical library rounds, decides no cost.
std::uint64_t hash_of(const Table& table) {
  Items items;
  items.add_integer(static_cast<std::uint64_t>(table.rows));
  items.add_integer(static_cast<std::uint64_t>(table.dim));
  items.add_float(static_cast<float>(table.pooling_factor));
  for (const double share : table.access_histogram) items.add_float(static_cast<float>(share));
  const TableMemory& memory = table.memory;
  if (memory.weight_type != WeightType::kFp32) {
    items.add("weight_type");
    items.add(name_of(memory.weight_type));
  }
  if (memory.optimizer != Optimizer::kSgd) {
    items.add("optimizer");
    items.add(name_of(memory.optimizer));
  }
  if (memory.batch_size != 0) {
    items.add("batch_size");
    items.add_integer(static_cast<std::uint64_t>(memory.batch_size));
  }
  add_rules(items, table.rules);
  if (!table.row_shares.empty()) {
    items.add("row_shares");
    items.add_integer(table.row_shares.size());
    for (const double share : table.row_shares) items.add_float(static_cast<float>(share));
  }
  if (table.replica_gradients != ReplicaGradients::kDense) {
    items.add("replica_gradients");
    items.add(name_of(table.replica_gradients));
  }
  if (table.features != 1.0) {
    items.add("features");
    items.add_float(static_cast<float>(table.features));
  }
  return items.value();
}

/// Those that are what a number of devices and a size of memory can say are that.
void add_devices(Items& items, const Task& task) {
  items.add_integer(static_cast<std::uint64_t>(task.devices));
  items.add_integer(static_cast<std::uint64_t>(largest_room_bytes(task)));
  if (has_equal_devices(task)) return;
  items.add("devices");
  for (std::size_t device = 0; device < task.device_list.size(); ++device) {
    items.add_integer(static_cast<std::uint64_t>(room_bytes(task, device)));
    const Device& listed = task.device_list[device];
    items.add_float(static_cast<float>(listed.base_ms));
    if (listed.speed != 1.0) {
      items.add("speed");
      items.add_float(static_cast<float>(listed.speed));
    }
  }
}

void add_task(Items& items, const Task& task) {
  items.add("task");
  add_devices(items, task);
  if (task.batch_size != kDefaultBatchSize) {
    items.add("batch");
    items.add_integer(static_cast<std::uint64_t>(task.batch_size));
  }
  if (task.devices_per_node != kDefaultDevicesPerNode) {
    items.add("devices_per_node");
    items.add_integer(static_cast<std::uint64_t>(task.devices_per_node));
  }
  if (task.links) {
    items.add("links");
    for (const auto& [name, gb_s] : kNodeLinkFields) {
      items.add_float(static_cast<float>((*task.links).*gb_s));
    }
  }
  std::vector<std::uint64_t> tables;
  tables.reserve(task.tables.size());
  for (const Table& table : task.tables) tables.push_back(hash_of(table));
  tables = with_groups(task, std::move(tables));
  const std::vector<std::uint64_t> patterns = group_patterns(task, tables);
  std::ranges::sort(tables);
  items.add_integer(tables.size());
  for (const std::uint64_t table : tables) items.add_integer(table);
  if (patterns.empty()) return;
  items.add("patterns");
  for (const std::uint64_t pattern : patterns) items.add_integer(pattern);
}

/// Those that the algorithm heeds.
void add_options(Items& items, const PlannerOptions& given, const CostModels& models) {
  const PlannerOptions options = without_presets(given);
  items.add("options");
  items.add(name_of(options.algorithm));
  if (options.algorithm == Algorithm::kNeuroshard) items.add(name_of(options.effort));
  if (options.algorithm == Algorithm::kNeuroshard || options.algorithm == Algorithm::kPublished) {
    const SearchOptions& search = options.search;
    for (const int size : {search.beam_width, search.candidates, search.max_splits,
                           search.grid_steps, search.memory_splits ? 1 : 0}) {
      items.add_integer(static_cast<std::uint64_t>(size));
    }
  }
  if (options.algorithm == Algorithm::kRandom) items.add_integer(options.seed);
  if (options.equal_widths && options.algorithm == Algorithm::kNeuroshard) {
    items.add("equal_widths");
  }
  if (options.cuts && options.algorithm == Algorithm::kNeuroshard &&
      *options.cuts != default_cuts(models)) {
    items.add("cuts");
    items.add(name_of(*options.cuts));
  }
}

void add_network(Items& items, const Mlp& network) {
  items.add_integer(network.layers.size());
  for (const DenseLayer& layer : network.layers) {
    items.add_integer(static_cast<std::uint64_t>(layer.inputs));
    items.add_integer(static_cast<std::uint64_t>(layer.outputs));
    items.add_floats(layer.weight);
    items.add_floats(layer.bias);
  }
}

void add_normalization(Items& items, const Normalization& features) {
  items.add_floats(features.mean);
  items.add_floats(features.std);
}

void add_comm_network(Items& items, const CommNetwork& network) {
  items.add(std::holds_alternative<DenseCommNetwork>(network) ? "dense" : "symmetric");
  std::visit(
      [&](const auto& one) {
        add_normalization(items, one.features);
        add_network(items, one.network);
      },
      network);
}

void add_models(Items& items, const CostModels& models, int devices) {
  items.add("models");
  add_normalization(items, models.compute.features);
  add_network(items, models.compute.table_network);
  add_network(items, models.compute.head);
  const CommModel& comm = models.comm_for(devices);
  add_comm_network(items, comm.forward);
  add_comm_network(items, comm.backward);
  if (models.all_reduce) {
    items.add("all_reduce");
    for (const auto& [count, line] : models.all_reduce->lines) {
      items.add_integer(static_cast<std::uint64_t>(count));
      items.add_float(static_cast<float>(line.latency_ms));
      items.add_float(static_cast<float>(line.ms_per_gib));
    }
  }
  for (const auto& [kind, price] : models.kind_prices) {
    items.add("kind_price");
    items.add(name_of(kind));
    for (const double ms : price.ms) items.add_float(static_cast<float>(ms));
  }
}

/// Which links of a task are seen beside.
void add_network(Items& items, const std::optional<KnownNetwork>& network) {
  if (!network) return;
  items.add("network");
  items.add_integer(static_cast<std::uint64_t>(network->devices_per_node));
  items.add_float(static_cast<float>(network->in_node_gb_s));
  items.add_float(static_cast<float>(network->between_nodes_gb_s));
}

}  // namespace

std::uint64_t fingerprint(const Task& task, const PlannerOptions& options,
                          const CostModels& models) {
  validate(task);
  Items items;
  items.add("neuroshard.fingerprint 1");
  add_task(items, task);
  add_options(items, options, models);
  add_models(items, models, task.devices);
  if (task.links) add_network(items, known_network(models));
  return items.value();
}

std::string fingerprint_text(std::uint64_t fingerprint) { return hex_digits(fingerprint); }

}  // namespace neuroshard
