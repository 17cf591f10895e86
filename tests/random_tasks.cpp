#include "random_tasks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/number_in.h"
#include "neuroshard/training_ranges.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard::testing {
namespace {

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

int pick(std::mt19937_64& random, const std::vector<int>& choices) {
  return choices[random() % choices.size()];
}

Table random_table(std::mt19937_64& random) {
  Table table;
  table.rows = static_cast<std::int64_t>(std::exp2(uniform(random, 0.0, 24.0)));
  table.dim = pick(random, {4, 8, 12, 16, 24, 32, 64, 128, 128, 256});
  table.pooling_factor = random() % 8 == 0 ? 0.0 : std::exp2(uniform(random, -2.0, 6.0));
  if (table.pooling_factor == 0.0) return table;
  double total = 0.0;
  for (double& share : table.access_histogram)
    total += share = std::pow(uniform(random, 0, 1), 4.0);
  for (double& share : table.access_histogram) share /= total;
  return table;
}

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  if (given == nullptr) return otherwise;
  if (const auto number = number_in<std::uint64_t>(given)) return *number;
  throw std::invalid_argument(std::string(name) + " is '" + given + "'; give a number");
}

Mlp random_mlp(std::mt19937_64& random, int inputs, const std::vector<int>& widths) {
  Mlp mlp;
  for (const int width : widths) {
    DenseLayer layer{.inputs = inputs, .outputs = width, .weight = {}, .bias = {}};
    const auto weight = [&] {
      return static_cast<float>(uniform(random, -1.0, 1.0) / std::sqrt(inputs));
    };
    for (int i = 0; i < inputs * width; ++i) layer.weight.push_back(weight());
    for (int i = 0; i < width; ++i) layer.bias.push_back(weight());
    mlp.layers.push_back(layer);
    inputs = width;
  }
  return mlp;
}

Normalization random_normalization(std::mt19937_64& random, int inputs, double scale) {
  Normalization features;
  for (int i = 0; i < inputs; ++i) {
    features.mean.push_back(static_cast<float>(uniform(random, 0.0, scale)));
    features.std.push_back(static_cast<float>(uniform(random, scale / 2.0, scale)));
  }
  return features;
}

}  // namespace

Task random_task(std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15U + 1);
  Task task;
  task.devices = pick(random, {1, 2, 2, 4, 4, 8, 16});
  const int tables = pick(random, {1, 2, 3, 5, 10, 20, 40});
  const bool all_equal = random() % 8 == 0;
  for (int i = 0; i < tables; ++i) {
    task.tables.push_back(all_equal && i > 0 ? task.tables.front() : random_table(random));
  }
  // Drawn by numbers of its own.
  std::mt19937_64 random_memory(seed + 77);
  if (random_memory() % 4 == 0) {
    const std::int64_t batch = random_memory() % 2 == 0 ? 0 : 1 + random_memory() % 4096;
    const auto draw = [&](const auto& all) { return all[random_memory() % all.size()]; };
    TableMemory memory;
    for (Table& table : task.tables) {
      if (!all_equal || &table == &task.tables.front()) {
        memory = {draw(all_weight_types()), draw(all_optimizers()), batch};
      }
      table.memory = memory;
    }
    if (random_memory() % 2 == 0) task.reserved.share = 0.15;
  }
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (const Table& table : task.tables) {
    total += table.size_bytes();
    largest = std::max(largest, table.size_bytes());
  }
  // From ample memory to too little.
  const double slack = std::exp2(uniform(random, -0.3, 3.0));
  task.memory_bytes = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(total) * slack) / task.devices);
  if (random() % 2 == 0) task.memory_bytes = std::max(task.memory_bytes, largest);
  if (room_bytes(task, 0) < 1) task.reserved = {};
  return task;
}

Task random_task_of_all_kinds(std::uint64_t seed) {
  Task task = random_task(seed);
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15U + 2);
  if (random() % 2 == 0) task.devices = 1 + static_cast<int>(random() % 16);
  task.batch_size = std::int64_t{1} << pick(random, {10, 13, 16, 16, 16, 18});
  const bool buffers = random() % 2 == 0;
  std::mt19937_64 random_features(seed + 78);  // All else is drawn as without them.
  std::mt19937_64 random_poolings(seed + 79);
  task.exchange.deduplicate_by_table = std::mt19937_64(seed + 80)() % 4 == 0;
  for (Table& table : task.tables) {
    if (random() % 3 == 0) table.rows = 1 + static_cast<std::int64_t>(random() % 200);
    table.memory.batch_size = buffers ? task.batch_size : 0;
    if (random() % 3 == 0) table.replica_gradients = ReplicaGradients::kTouched;
    if (random_features() % 4 == 0) {
      table.features = pick(random_features, {2, 3, 20}) - (random_features() % 2 == 0 ? 0.5 : 0.0);
    }
    if (random_poolings() % 4 == 0) {
      table.pooling = random_poolings() % 2 == 0 ? Pooling::kNone : Pooling::kMean;
    }
    if (random_poolings() % 4 == 0) table.weighted = table.pooling != Pooling::kNone;
    if (random() % 2 == 0) continue;
    // From nearly even to all lookups in one part.
    const double skew = uniform(random, 0.0, 20.0);
    table.row_shares.resize(1 + random() % (random() % 8 == 0 ? kMaxRowShares : 20));
    double total = 0.0;
    for (double& share : table.row_shares) {
      total += share = std::pow(uniform(random, 0.0, 1.0), skew);
    }
    for (double& share : table.row_shares) share /= total;
  }
  std::int64_t total = 0;
  for (const Table& table : task.tables) total += table.size_bytes();
  const double slack = std::exp2(uniform(random, 0.0, 3.0));
  task.memory_bytes = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(total) * slack) / task.devices);
  if (room_bytes(task, 0) < 1) task.reserved = {};
  if (random() % 4 != 0 || task.devices == 1) return task;
  // One table that is narrow and takes most of all memory: its narrowest slice exceeds a device.
  Table& giant = task.tables[random() % task.tables.size()];
  giant.dim = pick(random, {4, 4, 8, 12});
  giant.rows = (std::int64_t{1} << 20) + static_cast<std::int64_t>(random() % (1 << 24));
  total = 0;
  for (const Table& table : task.tables) total += table.size_bytes();
  task.memory_bytes =
      static_cast<std::int64_t>(static_cast<double>(total) * uniform(random, 1.0, 1.6)) /
      task.devices;
  return task;
}

/// Devices have other links and SSDs than the task says, and nodes other hosts.
static void vary_hosts(Task& task, std::mt19937_64& random) {
  if (task.device_list.empty()) {
    task.device_list.assign(static_cast<std::size_t>(task.devices),
                            Device{.memory_bytes = task.memory_bytes});
  }
  const auto times = [&](std::int64_t bytes) {
    return 1 + static_cast<std::int64_t>(uniform(random, 0.7, 2.0) * static_cast<double>(bytes));
  };
  const double faster = task.host.link_gb_s * std::exp2(uniform(random, 0.0, 4.0));
  for (std::size_t d = 0; d < task.device_list.size(); ++d) {
    Device& device = task.device_list[d];
    const bool is_first = d % static_cast<std::size_t>(task.devices_per_node) == 0;
    if (task.host.of_node && !is_first) {
      device.host_bytes = task.device_list[d - 1].host_bytes;
    } else if (random() % 2 == 0) {
      device.host_bytes = times(task.host.bytes);
    }
    if (random() % 2 == 0) device.host_link_gb_s = faster;
    if (task.host.ssd_bytes == 0) continue;
    if (random() % 2 == 0) device.ssd_bytes = times(task.host.ssd_bytes);
    if (random() % 2 == 0) device.ssd_gb_s = 2.0 * task.host.ssd_gb_s;
  }
}

void add_host_memory(Task& task, std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15U + 3);
  const double share = uniform(random, 0.1, 0.9);
  const std::int64_t total = total_bytes(task);
  set_memory(task,
             std::max<std::int64_t>(
                 1, static_cast<std::int64_t>(share * static_cast<double>(total)) / task.devices));
  task.reserved = {};
  for (Device& device : task.device_list) device.base_bytes = 0;
  task.exchange.deduplicate_by_table = false;  // Nobody knows what is fetched then.
  task.host = {.bytes = 1 + 2 * total,
               .link_gb_s = std::exp2(uniform(random, -1.0, 6.0)),
               .policy = random() % 2 == 0 ? HostPolicy::kLru : HostPolicy::kStatic,
               .prefetch = random() % 2 == 0};
  std::mt19937_64 of_tiers(seed * 0x9E3779B97F4A7C15U + 4);
  task.host.of_node = of_tiers() % 3 == 0;
  if (task.host.of_node) {
    const int nodes = (task.devices - 1) / task.devices_per_node + 1;
    task.host.bytes = 1 + static_cast<std::int64_t>(uniform(of_tiers, 0.9, 2.0) *
                                                    static_cast<double>(total) / nodes);
  }
  if (of_tiers() % 2 == 0) {
    task.host.bytes =
        1 + static_cast<std::int64_t>(uniform(of_tiers, 0.02, 0.6) * static_cast<double>(total)) /
                (task.host.of_node ? 1 : task.devices);
    task.host.ssd_bytes = 1 + total;
    task.host.ssd_gb_s = std::exp2(uniform(of_tiers, -1.0, 4.0));
  }
  if (of_tiers() % 3 == 0) vary_hosts(task, of_tiers);
  for (Table& table : task.tables) {
    if (random() % 2 == 0) {
      table.popularity = zipf_popularity(table.rows, uniform(random, 0.0, 2.0));
    }
    if (random() % 8 == 0) {
      table.rules.keep_in_hbm = true;
    } else if (random() % 8 == 0) {
      table.rules.hbm_share = uniform(random, 0.05, 0.9);
    }
  }
}

HalvedPlan random_halvings(const Task& task, std::mt19937_64& random) {
  HalvedPlan plan;
  std::vector<int> dims;
  for (const Table& table : task.tables) dims.push_back(table.dim);
  for (std::size_t tries = 3 * task.tables.size(); tries-- > 0;) {
    const std::size_t slice = random() % dims.size();
    if (!can_split_columns(dims[slice])) continue;
    plan.column_splits.push_back(static_cast<int>(slice));
    dims[slice] /= 2;
    dims.push_back(dims[slice]);
  }
  std::vector<int> slices(dims.size());
  std::iota(slices.begin(), slices.end(), 0);
  std::shuffle(slices.begin(), slices.end(), random);
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (const int slice : slices) plan.shards[random() % plan.shards.size()].push_back(slice);
  return plan;
}

SeedRange random_task_seeds(std::uint64_t count) {
  const std::uint64_t first = number_in_environment("NEUROSHARD_FIRST_RANDOM_TASK", 0);
  return {first, first + number_in_environment("NEUROSHARD_RANDOM_TASKS", count)};
}

CostModels random_models(std::uint64_t seed, const ModelShape& shape) {
  std::mt19937_64 random(seed);
  CostModels models;
  if (shape.any_batch) {
    models.compute.features = random_normalization(random, kOperatorFeatures, 100.0);
    models.compute.table_network = random_mlp(random, kOperatorFeatures, shape.table_network);
    models.all_reduce = CollectiveModel{.lines = {{2, {0.01, 5.0}}, {64, {0.2, 20.0}}}};
  } else {
    models.compute.features = random_normalization(random, kTableFeatures, 1.0);
    models.compute.features.mean[17] = 40.0F;
    models.compute.features.std[17] = 40.0F;
    models.compute.features.mean[18] = 15.0F;
    models.compute.features.std[18] = 25.0F;
    models.compute.features.mean[19] = 4e6F;
    models.compute.features.std[19] = 3e6F;
    models.compute.table_network = random_mlp(random, kTableFeatures, shape.table_network);
  }
  models.compute.head = random_mlp(random, shape.table_network.back(), shape.head);
  const auto dense = [&](int inputs, int devices) {
    std::vector<int> widths = shape.comm;
    widths.push_back(devices);
    return DenseCommNetwork{random_normalization(random, inputs, 100.0),
                            random_mlp(random, inputs, widths)};
  };
  for (const int devices : shape.devices) {
    models.dense_comm[devices] = {dense(2 * devices, devices), dense(devices, devices)};
  }
  if (shape.devices.empty()) {
    std::vector<int> widths = shape.comm;
    widths.push_back(1);
    const auto symmetric = [&] {
      return SymmetricCommNetwork{random_normalization(random, kSymmetricCommFeatures, 100.0),
                                  random_mlp(random, kSymmetricCommFeatures, widths)};
    };
    models.symmetric_comm = CommModel{symmetric(), symmetric()};
  }
  return models;
}

CostModels with_offsets_up_to(CostModels models, double most_offset_ms) {
  const std::string range = TrainingRange{0.0, most_offset_ms}.text();
  models.metadata[TrainingRanges::key("comm.symmetric", "start_offset_ms")] = range;
  for (const auto& [devices, model] : models.dense_comm) {
    models.metadata[TrainingRanges::key("comm." + std::to_string(devices), "start_offset_ms")] =
        range;
  }
  return models;
}

}  // namespace neuroshard::testing
