#include "neuroshard/fingerprint.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/policies/policy_parts.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/host_shares.h"
#include "core/tables/node_link_fields.h"
#include "core/tables/overlap_fields.h"
#include "core/tables/table_groups.h"
#include "neuroshard/task_models.h"
#include "search/planner_options.h"

namespace neuroshard {
namespace {

/// Items of docs/fingerprint.md. Numbers are spelt out byte by byte, lowest first, since machines
/// differ in how they keep them.
class Items {
 public:
  /// Texts, integers, numbers in fp32, and lists: their length, and what is in them.
  template <typename... Values>
  void add(const Values&... values) {
    (put(values), ...);
  }

  [[nodiscard]] std::uint64_t value() const { return hash_.value(); }

 private:
  void put(std::string_view text) { hash_.add(text); }
  void put(std::integral auto number) { hash_.add_number(static_cast<std::uint64_t>(number)); }
  void put(std::floating_point auto number) {
    // Comparing equal, the two zeros are one value.
    const auto value = static_cast<float>(number);
    hash_.add_number<4>(std::bit_cast<std::uint32_t>(value == 0.0F ? 0.0F : value));
  }
  template <typename T, typename Allocator>
  void put(const std::vector<T, Allocator>& list) {
    put(list.size());
    for (const T& item : list) put(item);
  }

  Fingerprint hash_;
};

void add_device_set(Items& items, std::string_view name, std::vector<int> devices) {
  if (devices.empty()) return;
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  items.add(name, devices);
}

/// Adds the rules that there are.
void add_rules(Items& items, const TableRules& rules) {
  if (rules.no_split) items.add("no_split");
  if (rules.min_width > 0) items.add("min_width", rules.min_width);
  if (rules.max_slices > 0) items.add("max_slices", rules.max_slices);
  add_device_set(items, "devices", rules.devices);
  add_device_set(items, "not_devices", rules.not_devices);
  add_device_set(items, "nodes", rules.nodes);
  add_device_set(items, "not_nodes", rules.not_nodes);
  if (rules.keep_in_hbm) items.add("keep_in_hbm");
  if (rules.hbm_share > 0.0) items.add("hbm_share", rules.hbm_share);
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
  items.add(table.rows, table.dim, table.pooling_factor);
  for (const double share : table.access_histogram) items.add(share);
  const TableMemory& memory = table.memory;
  if (memory.weight_type != WeightType::kFp32)
    items.add("weight_type", name_of(memory.weight_type));
  if (memory.optimizer != Optimizer::kSgd) items.add("optimizer", name_of(memory.optimizer));
  if (memory.batch_size != 0) items.add("batch_size", memory.batch_size);
  add_rules(items, table.rules);
  if (!table.row_shares.empty()) items.add("row_shares", table.row_shares);
  if (table.replica_gradients != ReplicaGradients::kDense) {
    items.add("replica_gradients", name_of(table.replica_gradients));
  }
  if (table.features != 1.0) items.add("features", table.features);
  if (table.pooling != Pooling::kSum) items.add("pooling", name_of(table.pooling));
  if (table.weighted) items.add("weighted");
  if (!table.popularity.empty()) {
    items.add("popularity", table.popularity.size());
    for (const auto& [rows, share] : table.popularity) items.add(rows, share);
  }
  return items.value();
}

/// Adds devices as a number and a size of memory, and lists them only if that does not say all.
void add_devices(Items& items, const Task& task) {
  items.add(task.devices, largest_room_bytes(task));
  if (has_equal_devices(task)) return;
  items.add("devices");
  for (std::size_t device = 0; device < task.device_list.size(); ++device) {
    const Device& listed = task.device_list[device];
    items.add(room_bytes(task, device), listed.base_ms);
    if (listed.speed != 1.0) items.add("speed", listed.speed);
    if (const HostMemory host = stated_host(task, device); host != task.host) {
      items.add("host", host.bytes, host.link_gb_s, host.ssd_bytes, host.ssd_gb_s);
    }
  }
}

/// Adds what is not as by default.
void add_exchange(Items& items, const ExchangeTypes& exchange) {
  const ExchangeTypes usual;
  if (exchange == usual) return;
  items.add("exchange");
  for (const auto& [name, type, known] : kWireTypeFields) {
    if (exchange.*type != usual.*type) items.add(name, name_of(exchange.*type));
  }
  for (const auto& [name, share] : kSentShareFields) {
    if (exchange.*share != usual.*share) items.add(name, exchange.*share);
  }
  for (const auto& [name, flag] : kExchangeFlagFields) {
    if (exchange.*flag) items.add(name);
  }
}

/// Adds what is not as by default.
void add_overlap(Items& items, const Overlap& overlap) {
  if (overlap == Overlap{}) return;
  items.add("overlap");
  if (overlap.ids) items.add(kOverlapIdsField);
  for (const auto& [name, ms] : kOverlapTimeFields) {
    if (overlap.*ms != 0.0) items.add(name, overlap.*ms);
  }
}

/// The first three always, the others if they are limits: fingerprints of links without them stay.
void add_links(Items& items, const NodeLinks& links) {
  constexpr std::size_t kAlways = 3;
  for (std::size_t i = 0; i < kNodeLinkFields.size(); ++i) {
    const auto& [name, gb_s] = kNodeLinkFields[i];
    if (i < kAlways) {
      items.add(links.*gb_s);
    } else if (links.*gb_s != 0.0) {
      items.add(name, links.*gb_s);
    }
  }
  for (const LinkLevel& level : links.levels) items.add("level", level.devices, level.gb_s);
}

void add_task(Items& items, const Task& task) {
  items.add("task");
  add_devices(items, task);
  if (task.batch_size != kDefaultBatchSize) items.add("batch", task.batch_size);
  if (task.devices_per_node != kDefaultDevicesPerNode) {
    items.add("devices_per_node", task.devices_per_node);
  }
  if (task.links) {
    items.add("links");
    add_links(items, *task.links);
  }
  add_exchange(items, task.exchange);
  add_overlap(items, task.overlap);
  if (task.host.bytes > 0) {
    items.add("host_memory", task.host.bytes, task.host.link_gb_s, name_of(task.host.policy));
    if (task.host.prefetch) items.add(kHostPrefetchField);
    if (task.host.of_node) items.add(kHostNodeGbField);
    if (task.host.ssd_bytes > 0) items.add(kSsdGbField, task.host.ssd_bytes, task.host.ssd_gb_s);
  }
  std::vector<std::uint64_t> tables;
  tables.reserve(task.tables.size());
  for (const Table& table : task.tables) tables.push_back(hash_of(table));
  tables = with_groups(task, std::move(tables));
  const std::vector<std::uint64_t> patterns = group_patterns(task, tables);
  std::ranges::sort(tables);
  items.add(tables);
  if (patterns.empty()) return;
  items.add("patterns");
  for (const std::uint64_t pattern : patterns) items.add(pattern);
}

/// Adds the options that the algorithm heeds.
void add_options(Items& items, const PlannerOptions& given, const CostModels& models) {
  const PlannerOptions options = without_presets(given);
  items.add("options", name_of(options.algorithm));
  const bool portfolio = options.algorithm == Algorithm::kNeuroshard;
  if (portfolio) items.add(name_of(options.effort));
  if (portfolio || options.algorithm == Algorithm::kPublished) {
    const SearchOptions& search = options.search;
    items.add(search.beam_width, search.candidates, search.max_splits, search.grid_steps,
              search.memory_splits);
  }
  if (options.algorithm == Algorithm::kRandom) items.add(options.seed);
  if (portfolio && options.equal_widths) items.add("equal_widths");
  if (portfolio && options.cuts && *options.cuts != default_cuts(models)) {
    items.add("cuts", name_of(*options.cuts));
  }
}

void add_network(Items& items, const Mlp& network) {
  items.add(network.layers.size());
  for (const DenseLayer& layer : network.layers) {
    items.add(layer.inputs, layer.outputs, layer.weight, layer.bias);
  }
}

void add_comm_network(Items& items, const CommNetwork& network) {
  items.add(std::holds_alternative<DenseCommNetwork>(network) ? "dense" : "symmetric");
  std::visit(
      [&](const auto& one) {
        items.add(one.features.mean, one.features.std);
        add_network(items, one.network);
      },
      network);
}

void add_models(Items& items, const CostModels& models, int devices) {
  items.add("models", models.compute.features.mean, models.compute.features.std);
  add_network(items, models.compute.table_network);
  add_network(items, models.compute.head);
  const CommModel& comm = models.comm_for(devices);
  add_comm_network(items, comm.forward);
  add_comm_network(items, comm.backward);
  const auto add_collective = [&](std::string_view name, const auto& model) {
    if (!model) return;
    items.add(name);
    for (const auto& [count, line] : model->lines) {
      items.add(count, line.latency_ms, line.ms_per_gib);
    }
  };
  add_collective("all_reduce", models.all_reduce);
  add_collective("ids", models.ids);
  for (const auto& [kind, price] : models.kind_prices) {
    items.add("kind_price", name_of(kind));
    for (const double ms : price.ms) items.add(ms);
  }
}

void add_policy(Items& items, const PlacementPolicy& policy) {
  items.add("policy");
  std::visit(
      [&]<typename Policy>(const Policy& networks) {
        for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
          add_network(items, networks.*part.network);
        }
      },
      policy.networks);
  if (const auto* autoshard = std::get_if<AutoshardPolicy>(&policy.networks)) {
    items.add(autoshard->features.mean, autoshard->features.std);
  }
}

/// Which links of a task are seen beside.
void add_network(Items& items, const std::optional<NodeNetwork>& network) {
  if (!network) return;
  items.add("network", network->devices_per_node, network->links.in_node_gb_s,
            network->links.between_nodes_gb_s);
}

}  // namespace

std::uint64_t fingerprint(const Task& task, const PlannerOptions& options,
                          const CostModels& models) {
  validate(task);
  Items items;
  items.add("neuroshard.fingerprint 1");
  add_task(items, task);
  add_options(items, options, models);
  if (options.policy) add_policy(items, *options.policy);
  add_models(items, models, task.devices);
  const std::optional<NodeNetwork> hardware = hardware_network(models);
  if (task.links || hardware) add_network(items, known_network(models));
  if (hardware) {
    items.add("hardware", hardware->devices_per_node);
    add_links(items, hardware->links);
  }
  return items.value();
}

std::string fingerprint_text(std::uint64_t fingerprint) { return hex_digits(fingerprint); }

}  // namespace neuroshard
