#include "neuroshard/task.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

#include "core/base/message_text.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/host_shares.h"
#include "core/tables/lookup_bytes.h"
#include "core/tables/node_link_fields.h"
#include "core/tables/overlap_fields.h"
#include "core/tables/reserved_problem.h"
#include "core/tables/row_popularity.h"
#include "core/tables/rule_validation.h"
#include "core/tables/stated_gib.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_label.h"
#include "core/tables/table_problem.h"
#include "neuroshard/error.h"
#include "neuroshard/task_models.h"

namespace neuroshard {
namespace {

/// Shares of measured lookups are rounded in files; their sums differ from 1 by less.
constexpr double kSumTolerance = 1e-3;

// Ids are int64, elements of outputs fp32, whatever the type of the weights.
constexpr std::int64_t kOutputBytes = 4;
/// More than fit into any task.
constexpr double kMostOutputs = static_cast<double>(kMaxTaskBytes) / 8.0;

using Problem = std::optional<std::string>;

std::string in_place(const std::string& where, const std::string& text) {
  return where.empty() ? text : where + ": " + text;
}

bool is_share(double value) { return std::isfinite(value) && value >= 0.0; }

std::string no_share(double value, const std::string& what) {
  return what + " is " + std::to_string(value) + "; give a finite number that is not negative";
}

/// Bytes that are less than 2^63 and, if they are too many for any task, more than kMaxTaskBytes.
std::int64_t bounded_bytes(double bytes) {
  return static_cast<std::int64_t>(
      std::ceil(std::min(bytes, 2.0 * static_cast<double>(kMaxTaskBytes))));
}

/// Halving leaves slices of no fewer columns than this.
std::int64_t bytes_of_finest_cut(const Table& table) {
  std::int64_t bytes = 0;
  const bool too_many =
      __builtin_mul_overflow(slice_bytes(table, kDimMultiple),
                             static_cast<std::int64_t>(table.dim / kDimMultiple), &bytes);
  return too_many ? std::numeric_limits<std::int64_t>::max() : bytes;
}

}  // namespace

double lookup_share(const Table& table, std::int64_t first_row, std::int64_t rows) {
  const std::vector<double>& shares = table.row_shares;
  if (shares.empty() || rows == table.rows) {
    return static_cast<double>(rows) / static_cast<double>(table.rows);
  }
  // Rows times parts, of which a part has table.rows and a row has `parts`, are less than 2^50.
  const auto parts = static_cast<std::int64_t>(shares.size());
  const std::int64_t begin = first_row * parts;
  const std::int64_t end = (first_row + rows) * parts;
  double share = 0.0;
  for (std::int64_t part = begin / table.rows; part * table.rows < end; ++part) {
    const std::int64_t overlap =
        std::min(end, (part + 1) * table.rows) - std::max(begin, part * table.rows);
    share += shares[static_cast<std::size_t>(part)] *
             (static_cast<double>(overlap) / static_cast<double>(table.rows));
  }
  return share / std::accumulate(shares.begin(), shares.end(), 0.0);
}

int output_columns(const Table& table, int dim) {
  return std::max(1, static_cast<int>(std::lround(outputs_per_sample(table) * dim)));
}

SliceMemory slice_memory(const Table& table, int dim) {
  const auto bytes = [&](const RowBytes& row) {
    return table.rows * (row.per_column * dim + row.per_row);
  };
  SliceMemory memory{.weight_bytes = bytes(weight_bytes(table.memory.weight_type)),
                     .optimizer_bytes = bytes(state_bytes(table.memory.optimizer)),
                     .buffer_bytes = 0};
  if (table.memory.batch_size > 0) {
    const auto batch = static_cast<double>(table.memory.batch_size);
    const double outputs_of_sample = std::min(outputs_per_sample(table), table.pooling_factor);
    const auto outputs =
        static_cast<std::int64_t>(std::ceil(std::min(batch * outputs_of_sample, kMostOutputs)));
    memory.buffer_bytes = bounded_bytes(batch * table.pooling_factor * lookup_bytes(table)) +
                          outputs * dim * kOutputBytes;
  }
  return memory;
}

std::int64_t reserved_bytes(const Task& task, std::size_t device) {
  const auto& [bytes, share] = task.reserved;
  if (share == 0.0) return bytes;
  const std::int64_t memory = memory_bytes(task, device);
  return memory - static_cast<std::int64_t>((1.0 - share) * static_cast<double>(memory)) + bytes;
}

std::int64_t hbm_room_bytes(const Task& task, std::size_t device) {
  const std::int64_t base = task.device_list.empty() ? 0 : task.device_list[device].base_bytes;
  return memory_bytes(task, device) - base - reserved_bytes(task, device);
}

namespace {

std::int64_t bounded_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

std::int64_t room_with(const Task& task, std::size_t device, std::int64_t host_bytes) {
  return bounded_sum(bounded_sum(hbm_room_bytes(task, device), host_bytes),
                     stated_host(task, device).ssd_bytes);
}

/// [devices]. `host_bytes(device)`: of its host.
std::vector<std::int64_t> rooms_with(const Task& task, const auto& host_bytes) {
  const auto devices = static_cast<std::size_t>(task.devices);
  std::vector<std::int64_t> rooms(devices);
  for (std::size_t device = 0; device < devices; ++device) {
    rooms[device] = room_with(task, device, host_bytes(device));
  }
  return rooms;
}

/// The device has no more.
std::int64_t most_host_bytes(const Task& task, std::size_t device) {
  return pools_host_memory(task) ? stated_host(task, device).bytes : even_host_bytes(task, device);
}

}  // namespace

std::int64_t room_bytes(const Task& task, std::size_t device) {
  return room_with(task, device, most_host_bytes(task, device));
}

std::vector<std::int64_t> rooms_bytes(const Task& task) {
  return rooms_with(task, [&](std::size_t device) { return most_host_bytes(task, device); });
}

std::vector<std::int64_t> even_rooms_bytes(const Task& task) {
  return rooms_with(task, [&](std::size_t device) { return even_host_bytes(task, device); });
}

std::int64_t total_bytes(const Task& task) {
  std::int64_t bytes = 0;
  for (const Table& table : task.tables) bytes += table.size_bytes();
  return bytes;
}

Task without_tables(const Task& task) {
  return {.tables = {},
          .devices = task.devices,
          .memory_bytes = task.memory_bytes,
          .reserved = task.reserved,
          .batch_size = task.batch_size,
          .device_list = task.device_list,
          .devices_per_node = task.devices_per_node,
          .links = task.links,
          .exchange = task.exchange,
          .overlap = task.overlap,
          .host = task.host};
}

std::int64_t largest_room_bytes(const Task& task) { return std::ranges::max(rooms_bytes(task)); }

std::int64_t total_room_bytes(const Task& task) {
  const bool pools = pools_host_memory(task);
  const int nodes = pools ? (task.devices - 1) / task.devices_per_node + 1 : 0;
  std::int64_t total = 0;
  for (int node = 0; node < nodes; ++node) {
    total = bounded_sum(total, pool_bytes(task, static_cast<std::size_t>(node)));
  }
  const auto of_device = [&](std::size_t device) {
    return pools ? 0 : even_host_bytes(task, device);
  };
  for (const std::int64_t room : rooms_with(task, of_device)) total = bounded_sum(total, room);
  return total;
}

namespace {

bool computes_as_predicted(const Device& device) {
  return device.base_ms == 0.0 && device.speed == 1.0;
}

}  // namespace

bool has_unpooled_tables(const Task& task) {
  return std::ranges::any_of(task.tables,
                             [](const Table& table) { return table.pooling == Pooling::kNone; });
}

bool has_equal_devices(const Task& task) {
  for (std::size_t device = 0; device < task.device_list.size(); ++device) {
    if (!computes_as_predicted(task.device_list[device])) return false;
    if (room_bytes(task, device) != room_bytes(task, 0)) return false;
    if (stated_host(task, device) != task.host) return false;
  }
  return true;
}

void set_memory(Task& task, std::int64_t memory_bytes) {
  task.memory_bytes = memory_bytes;
  for (Device& device : task.device_list) device.memory_bytes = memory_bytes;
}

ComputeOnDevices compute_on_devices(const Task& task) {
  if (std::ranges::all_of(task.device_list, computes_as_predicted)) return {};
  ComputeOnDevices compute;
  for (const Device& device : task.device_list) {
    compute.base_ms.push_back(static_cast<float>(device.base_ms));
    compute.speed.push_back(static_cast<float>(device.speed));
  }
  return compute;
}

std::int64_t bytes_from_gib(double gib) {
  if (!std::isfinite(gib) || gib <= 0.0 || gib >= kGibLimit) {
    throw Error("memory is " + shortest_text(gib) +
                " GiB; give a number above 0 and below 8589934592, e.g. 4");
  }
  return static_cast<std::int64_t>(gib * kGib);
}

double gib_from_bytes(std::int64_t bytes) { return static_cast<double>(bytes) / kGib; }

std::optional<std::string> histogram_problem_of(const std::array<double, kHistogramBins>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum == 0.0 || std::fabs(sum - 1.0) <= kSumTolerance) return std::nullopt;
  return "bin_0 to bin_16 add up to " + std::to_string(sum) +
         "; they are shares of the rows touched and must add up to 1";
}

std::optional<std::string> row_shares_problem_of(const std::vector<double>& shares) {
  if (shares.empty()) return std::nullopt;
  if (shares.size() > kMaxRowShares) {
    return "row_shares has " + std::to_string(shares.size()) + " numbers; give at most " +
           std::to_string(kMaxRowShares);
  }
  double sum = 0.0;
  for (std::size_t part = 0; part < shares.size(); ++part) {
    if (!is_share(shares[part])) {
      return no_share(shares[part], "row_shares: number " + std::to_string(part));
    }
    sum += shares[part];
  }
  if (std::abs(sum - 1.0) <= kSumTolerance) return std::nullopt;
  return "row_shares add up to " + std::to_string(sum) +
         "; they are shares of the table's lookups and must add up to 1";
}

namespace {

std::optional<std::string> pooling_problem_of(const Table& table) {
  if (name_of(table.pooling) == "unknown") return "pooling is none of the enumerators; give one";
  if (table.pooling != Pooling::kNone) return std::nullopt;
  if (table.weighted) {
    return "weighted is true, but nothing is pooled by weights of lookups where pooling is none; "
           "give one or the other";
  }
  if (table.pooling_factor * table.dim <= kMostOutputColumns) return std::nullopt;
  return "pooling_factor " + shortest_text(table.pooling_factor) + " times dim " +
         std::to_string(table.dim) +
         " is more than 2^28 columns of outputs a sample; give fewer, or a pooling";
}

}  // namespace

std::optional<std::string> problem_of(const Table& table) {
  if (table.rows < 1 || table.rows > kMaxRows) {
    return "row is " + std::to_string(table.rows) + "; a table has between 1 and 2^40 rows";
  }
  if (table.dim < kDimMultiple || table.dim > kMaxDim) {
    return "dim is " + std::to_string(table.dim) + "; give a multiple of 4 between 4 and 65536";
  }
  if (table.dim % kDimMultiple != 0) {
    const int below = table.dim / kDimMultiple * kDimMultiple;
    return "dim " + std::to_string(table.dim) + " is not a multiple of 4; use " +
           std::to_string(below) + " or " + std::to_string(below + kDimMultiple);
  }
  if (!is_share(table.pooling_factor)) return no_share(table.pooling_factor, "pooling_factor");
  if (!(table.features > 0.0 && table.features <= kMostFeatures)) {
    return "features is " + shortest_text(table.features) + "; give a number above 0, at most 4096";
  }
  if (std::optional<std::string> problem = pooling_problem_of(table)) return problem;
  if (!is_share(table.once_in_samples)) return no_share(table.once_in_samples, "once_in_samples");
  if (table.replica_devices < 1 || table.replica_devices > kMaxDevices) {
    return "replica_devices is " + std::to_string(table.replica_devices) + "; leave it at 1";
  }
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double share = table.access_histogram[bin];
    if (!is_share(share)) return no_share(share, "bin_" + std::to_string(bin));
  }
  const auto& [weight_type, optimizer, batch_size] = table.memory;
  if (name_of(weight_type) == "unknown" || name_of(optimizer) == "unknown") {
    return "weight type or optimizer is none of the enumerators; give one";
  }
  if (batch_size < 0 || batch_size > kMaxBatchSize) {
    return "batch_size is " + std::to_string(batch_size) + "; give a number between 0 and 2^40";
  }
  if (name_of(table.replica_gradients) == "unknown") {
    return "replica_gradients is none of the enumerators; give one";
  }
  if (std::optional<std::string> problem = row_shares_problem_of(table.row_shares)) return problem;
  return popularity_problem_of(table.popularity, table.rows);
}

void validate(const Table& table, const std::string& where) {
  if (const Problem problem = problem_of(table)) throw Error(in_place(where, *problem));
}

namespace {

Problem out_of_range(const char* what, int value) {
  if (value >= 1 && value <= kMaxDevices) return std::nullopt;
  return std::string(what) + " is " + std::to_string(value) + "; give a number between 1 and " +
         std::to_string(kMaxDevices);
}

/// The problem of a part of a task, which it begins with.
Problem of_part(const char* part, Problem problem) {
  if (problem) problem->insert(0, part);
  return problem;
}

Problem levels_problem_of(const Task& task) {
  int inner = task.devices_per_node;
  for (std::size_t i = 0; i < task.links->levels.size(); ++i) {
    const LinkLevel& level = task.links->levels[i];
    const auto problem = [&](const std::string& what) {
      return "level " + std::to_string(i) + ": " + what;
    };
    const std::string devices = "devices is " + std::to_string(level.devices);
    if (level.devices < inner || level.devices > kMaxDevices || level.devices % inner != 0) {
      return problem(devices + "; give a multiple of the " + std::to_string(inner) +
                     " of a block of the level before, or of a node, up to " +
                     std::to_string(kMaxDevices));
    }
    if (task.devices > level.devices && task.devices % level.devices != 0) {
      return problem(
          devices + ", and the " + std::to_string(task.devices) +
          " of the task do not fill such blocks; give a divisor of them, or leave the level out");
    }
    if (!(level.gb_s >= kLeastGbPerSecond && level.gb_s <= kMostGbPerSecond)) {
      return problem("gb_s is " + shortest_text(level.gb_s) + "; give GB/s between 0.001 and 1e6");
    }
    inner = level.devices;
  }
  return std::nullopt;
}

Problem links_problem_of(const Task& task) {
  if (!task.links) return std::nullopt;
  for (const auto& [name, field] : kNodeLinkFields) {
    const double gb_s = (*task.links).*field;
    if (gb_s == 0.0 || (gb_s >= kLeastGbPerSecond && gb_s <= kMostGbPerSecond)) continue;
    return std::string(name) + " is " + shortest_text(gb_s) +
           "; give GB/s between 0.001 and 1e6, or leave it out";
  }
  return levels_problem_of(task);
}

Problem tables_problem_of(const Task& task) {
  if (task.tables.empty()) return "there are no tables; give at least one";
  std::int64_t total_bytes = 0;
  for (std::size_t i = 0; i < task.tables.size(); ++i) {
    const Table& table = task.tables[i];
    Problem problem = problem_of(table);
    if (!problem) problem = rule_problem_of(table, task);
    const std::int64_t bytes = problem ? 0 : bytes_of_finest_cut(table);
    if (bytes > kMaxTaskBytes - total_bytes) {
      problem = "the tables up to here exceed 2^60 bytes; check row";
      if (table.memory.batch_size > 0) *problem += " and batch_size";
    }
    if (problem) return label_of(table, i) + ": " + *problem;
    total_bytes += bytes;
  }
  return std::nullopt;
}

Problem problem_of(const Task& task) {
  if (Problem problem = out_of_range("devices", task.devices)) return problem;
  if (Problem problem = out_of_range("devices_per_node", task.devices_per_node)) return problem;
  if (Problem problem = of_part("links: ", links_problem_of(task))) return problem;
  if (Problem problem = of_part("exchange: ", exchange_problem_of(task.exchange))) return problem;
  if (Problem problem = of_part("overlap: ", overlap_problem_of(task.overlap))) return problem;
  if (Problem problem = of_part("host_memory: ", host_memory_problem_of(task.host))) return problem;
  if (task.host.bytes > 0 && (task.exchange.deduplicate_ids || task.exchange.deduplicate_by_table ||
                              task.exchange.hot_rows)) {
    return "host_memory: what is fetched is not known where exchange deduplicates ids or has "
           "hot_rows; leave out one of them";
  }
  if (Problem problem = device_list_problem_of(task)) return problem;
  if (task.device_list.empty() && task.memory_bytes < 1) {
    return "device memory (memory_gb) is " + std::to_string(task.memory_bytes) +
           " bytes; give GiB above 0, e.g. 4";
  }
  if (Problem problem = reserved_problem_of(task)) return problem;
  if (task.batch_size < 1 || task.batch_size > kMaxBatchSize) {
    return "batch_size is " + std::to_string(task.batch_size) +
           "; give the samples of an iteration; costs can be predicted for " +
           format_count(kMinPricedBatch) + " to " + format_count(kMaxPricedBatch);
  }
  if (Problem problem = tables_problem_of(task)) return problem;
  return group_problem_of(task);
}

}  // namespace

void validate(const Task& task, const std::string& where) {
  if (const Problem problem = problem_of(task)) throw Error(in_place(where, *problem));
}

}  // namespace neuroshard
