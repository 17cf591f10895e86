#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/devices.h"
#include "neuroshard/exchange_types.h"
#include "neuroshard/host_memory.h"
#include "neuroshard/node_links.h"
#include "neuroshard/overlap.h"
#include "neuroshard/pooling.h"
#include "neuroshard/replica_gradients.h"
#include "neuroshard/rules.h"
#include "neuroshard/table_memory.h"

#pragma GCC visibility push(default)
namespace neuroshard {

inline constexpr int kHistogramBins = 17;
/// A column split must leave pieces whose dim is a multiple of this (16-byte rows of fp32).
inline constexpr int kDimMultiple = 4;
inline constexpr int kMaxDevices = 16384;
inline constexpr int kDefaultDevicesPerNode = 8;
/// Samples of a training iteration in the published data, and the default everywhere. Access
/// histograms describe so many samples.
inline constexpr std::int64_t kDefaultBatchSize = 65536;
inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 40;
inline constexpr int kMaxDim = 1 << 16;
/// Parts of a table's rows whose shares of its lookups may be given.
inline constexpr int kMaxRowShares = 1024;
inline constexpr std::int64_t kMaxBatchSize = std::int64_t{1} << 40;
/// Features that read a table.
inline constexpr double kMostFeatures = 4096.0;
/// The most output_columns() that a table may have.
inline constexpr double kMostOutputColumns = kMostFeatures * kMaxDim;
/// All tables of a task, however they are cut; keeps every sum of sizes within 64 bits.
inline constexpr std::int64_t kMaxTaskBytes = std::int64_t{1} << 60;

/// An embedding table of a recommendation model.
struct Table {
  std::string name{};  ///< Used in messages and plans only; may be empty.
  std::int64_t rows = 0;
  int dim = 0;  ///< Columns; a multiple of 4.
  /// Mean number of lookups per sample, of all features that read it together.
  double pooling_factor = 0.0;
  /// Shares of the distinct rows touched in a batch of kDefaultBatchSize samples that are touched
  /// 1, 2, 3-4, 5-8, ..., 16385-32768, and more than 32768 times. Sums to 1; all zero for a table
  /// never looked up.
  std::array<double, kHistogramBins> access_histogram{};
  TableMemory memory{};
  TableRules rules{};
  /// Shares of the lookups that so many equal, consecutive parts of the rows get: part i of n is
  /// rows [i rows / n, (i + 1) rows / n), looked up evenly. At most kMaxRowShares, which sum to 1.
  /// Empty: all rows are looked up evenly. Only costs of row blocks depend on them.
  std::vector<double> row_shares{};
  ReplicaGradients replica_gradients = ReplicaGradients::kDense;  ///< Used if a plan replicates it.
  /// Features that read the table, each with the share of the samples that have it: so many bags of
  /// lookups a sample has. Above 0, at most kMostFeatures.
  double features = 1.0;
  Pooling pooling = Pooling::kSum;
  /// Whether a number comes with each id, by which its row is multiplied before it is pooled.
  bool weighted = false;
  /// Set by DeduplicatedTask alone. So many samples, those of a device, look up no row twice, and
  /// `access_histogram` is of all samples of the task. 0: it is of kDefaultBatchSize samples.
  double once_in_samples = 0.0;
  /// Parts of the lookups that the hottest rows get, from few rows to all that are ever looked up.
  /// There are at most kMostPopularityPoints; both numbers grow, the share to 1. Empty: it is
  /// estimated from the access histogram. Only fetches from the host depend on it.
  std::vector<PopularRows> popularity{};
  /// Set by HotRowsSplit alone. Each replica is spread by rows over so many devices, those of a
  /// node, which look up what their node's part of the batch does in their rows.
  int replica_devices = 1;

  [[nodiscard]] std::int64_t size_bytes() const;  ///< slice_bytes() of all columns.
};

/// Share of the lookups in `table` that go to these rows of it, at least one. Row shares divide the
/// lookups among parts of the table; within a part they are in proportion to the rows. The share of
/// all rows is exactly 1.
[[nodiscard]] double lookup_share(const Table& table, std::int64_t first_row, std::int64_t rows);

/// Rows of outputs that a sample has of `table`: one for each feature, or for each lookup if they
/// are not pooled.
[[nodiscard]] inline double outputs_per_sample(const Table& table) {
  return table.pooling == Pooling::kNone ? table.pooling_factor : table.features;
}

/// Columns of the outputs of a sample that `dim` columns of `table` have. At least 1.
[[nodiscard]] int output_columns(const Table& table, int dim);

/// Memory that `dim` columns of `table`, kept together, take on a device: docs/memory.md has
/// formulas and sources. Each column adds the same amount, but every slice has a fixed part
/// besides. The slices of a table may therefore take more than the table, and never take less.
[[nodiscard]] SliceMemory slice_memory(const Table& table, int dim);

/// Total of slice_memory().
[[nodiscard]] inline std::int64_t slice_bytes(const Table& table, int dim) {
  return slice_memory(table, dim).total_bytes();
}

/// Bytes that move with a slice, weights and optimizer state, for each of its rows.
[[nodiscard]] inline RowBytes stored_bytes(const TableMemory& memory) {
  const RowBytes weights = weight_bytes(memory.weight_type);
  const RowBytes state = state_bytes(memory.optimizer);
  return {weights.per_column + state.per_column, weights.per_row + state.per_row};
}

inline std::int64_t Table::size_bytes() const { return slice_bytes(*this, dim); }

/// Tables to be placed on devices.
struct Task {
  std::vector<Table> tables{};
  int devices = 0;
  std::int64_t memory_bytes = 0;  ///< Memory of one device, including what is reserved.
  ReservedMemory reserved{};      ///< Reserved on each device.
  /// Samples of a training iteration, on all devices together, that costs are of. Memory counts the
  /// samples of TableMemory.
  std::int64_t batch_size = kDefaultBatchSize;
  /// Empty: equal devices of `memory_bytes`. Else all `devices` of them, and `memory_bytes` means
  /// nothing.
  std::vector<Device> device_list{};
  /// Devices 0 to `devices_per_node` - 1 share a node, and so on. The kinds kTableRow and kGrid
  /// depend on it; costs do if `links` are stated.
  int devices_per_node = kDefaultDevicesPerNode;
  /// Nothing: communication costs are those of the network that the cost models know, where it does
  /// not matter which devices share a node.
  std::optional<NodeLinks> links{};
  ExchangeTypes exchange{};  ///< Communication costs depend on it, memory does not.
  Overlap overlap{};         ///< An iteration depends on it, the terms of its cost do not.
  HostMemory host{};         ///< It holds rows that HBM has no room for.
  /// Tables that every plan keeps together or apart. A table may be in several groups; those that
  /// share a table and are kept together are as one.
  std::vector<TableGroup> groups{};
};

/// All memory of a device.
[[nodiscard]] inline std::int64_t memory_bytes(const Task& task, std::size_t device) {
  return task.device_list.empty() ? task.memory_bytes : task.device_list[device].memory_bytes;
}

/// Bytes of the device's memory that are reserved.
[[nodiscard]] std::int64_t reserved_bytes(const Task& task, std::size_t device);

/// Memory of a device for tables: all of it, less what is reserved and less its base load. It is at
/// least 0 if `task` is valid.
[[nodiscard]] std::int64_t hbm_room_bytes(const Task& task, std::size_t device);

/// hbm_room_bytes(), the memory of the host beside it and the SSD: no plan has more on a device. At
/// most INT64_MAX.
[[nodiscard]] std::int64_t room_bytes(const Task& task, std::size_t device);

/// room_bytes() of every device, [devices].
[[nodiscard]] std::vector<std::int64_t> rooms_bytes(const Task& task);

/// room_bytes() of the device that has most.
[[nodiscard]] std::int64_t largest_room_bytes(const Task& task);

/// [devices]: room_bytes() where the devices of a node have equal parts of its host's memory.
[[nodiscard]] std::vector<std::int64_t> even_rooms_bytes(const Task& task);

/// Room of all devices together; INT64_MAX if it is more.
[[nodiscard]] std::int64_t total_room_bytes(const Task& task);

/// Whether rows that wait in hosts' memory are fetched behind the iteration before.
[[nodiscard]] inline bool prefetches(const Task& task) {
  return task.host.bytes > 0 && task.host.prefetch;
}

/// Whether any device can take the place of any other, and of one that is not listed: none is, or
/// they have the same room and host, no base load to compute, and speed 1.
[[nodiscard]] bool has_equal_devices(const Task& task);

/// Whether some table of `task` is not pooled.
[[nodiscard]] bool has_unpooled_tables(const Task& task);

/// Gives each device so much memory. Base loads of listed devices stay.
void set_memory(Task& task, std::int64_t memory_bytes);

/// Gives each device, or node if HostMemory::of_node, so much host memory, those with other
/// figures, too. 0: tables are in HBM alone.
void set_host_memory(Task& task, std::int64_t host_bytes);

/// Empty if no device has a base load to compute or another speed than 1.
[[nodiscard]] ComputeOnDevices compute_on_devices(const Task& task);

/// Copy of a task without its tables and what is said of them.
[[nodiscard]] Task without_tables(const Task& task);

/// Bytes of all tables, unsplit.
[[nodiscard]] std::int64_t total_bytes(const Task& task);

/// Memory in bytes of `gib` GiB (the published code's "GB"), rounded down.
/// Throws Error unless `gib` is finite, positive and below 2^33.
[[nodiscard]] std::int64_t bytes_from_gib(double gib);
[[nodiscard]] double gib_from_bytes(std::int64_t bytes);

/// Throws Error naming the table and the field if
/// * a number of a table is out of range: rows in [1, 2^40], dim a multiple of 4 in [4, 65536],
///   pooling factor and histogram finite and not negative, output columns of an unpooled table at
///   most kMostOutputColumns, or row shares at most kMaxRowShares that sum to 1 (within 0.001);
/// * a number of the task is out of range: batch size in [0, 2^40], devices of a node in
///   [1, 16384], links in [0.001, 1e6] GB/s or 0, or times of an overlap in [0, 1e6] ms;
/// * a level of links has no whole blocks of the one before, or the devices do not fill its blocks;
/// * an exchange has a type that it may not have, or a share outside [0.001, 1];
/// * listed devices are not as many as `devices`, or have loads or hosts out of range;
/// * all of a device is reserved;
/// * tables cut as finely as can be take more than kMaxTaskBytes;
/// * rules contradict each other or the task;
/// * a group does not name two tables of the task, or groups contradict each other or rules of
///   tables.
/// `where` opens the message, e.g. a file name; it may be empty.
void validate(const Task& task, const std::string& where = "");
void validate(const Table& table, const std::string& where);

}  // namespace neuroshard
#pragma GCC visibility pop
