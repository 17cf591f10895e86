#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A rectangle of a table that a plan keeps together: some of its columns, some of its rows.
struct TableSlice {
  int table = 0;               ///< Index into `Task::tables`.
  int first_column = 0;        ///< Counted in the uncut table.
  int dim = 0;                 ///< Columns of this slice; a multiple of `kDimMultiple`.
  std::int64_t first_row = 0;  ///< Counted in the uncut table.
  std::int64_t rows = 0;       ///< Rows of this slice.

  friend bool operator==(const TableSlice&, const TableSlice&) = default;
};

/// Rows of a table that every device holds, and rows that each node holds once.
struct HotRows {
  int table = 0;          ///< Index into `Task::tables`.
  std::int64_t rows = 0;  ///< Every device holds so many of its most popular rows.
  /// The next ones, which each node holds once: by rows over its devices, so that each of these has
  /// as many lookups. Devices look them up in their node, and nodes add up their gradients.
  std::int64_t node_rows = 0;

  /// At least one, and not all of the table.
  [[nodiscard]] std::int64_t all() const { return rows + node_rows; }

  friend bool operator==(const HotRows&, const HotRows&) = default;
};

/// A plan says where everything goes.
struct Plan {
  /// Each row and column of each table that is not replicated, but for hot rows, is in exactly one
  /// slice.
  std::vector<TableSlice> slices;
  /// One list per device, of indices into `slices`.
  std::vector<std::vector<int>> shards;
  /// Tables that every device holds whole, ascending. Each device looks up its own part of the
  /// batch, and gradients are summed over all devices ("data-parallel").
  std::vector<int> replicas{};
  /// Tables of which each device asks once for each row that its part of the batch looks up,
  /// ascending. It pools the rows that come back itself. ExchangeTypes::deduplicate_by_table.
  std::vector<int> deduplicated{};
  /// Tables whose most popular rows every device holds, or each node once, ascending. Each device
  /// looks up its own part of the batch in the former, and gradients are summed over all devices.
  /// Slices have the other rows, which are counted from 0 without them. ExchangeTypes::hot_rows.
  std::vector<HotRows> hot_rows{};

  /// Puts another slice on a device.
  void add(const TableSlice& slice, std::size_t device) {
    shards[device].push_back(static_cast<int>(slices.size()));
    slices.push_back(slice);
  }

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// True if both halves of a slice with `dim` columns have a multiple of `kDimMultiple` columns.
[[nodiscard]] constexpr bool can_split_columns(int dim) {
  return dim > 0 && dim % (2 * kDimMultiple) == 0;
}

/// `dim` halved, as often as it can be split, until it is no more than `width`.
[[nodiscard]] constexpr int halved_to(int width, int dim) {
  while (dim > width && can_split_columns(dim)) dim /= 2;
  return dim;
}

/// One slice a table: a plan that cuts nothing has these.
[[nodiscard]] std::vector<TableSlice> whole_tables(const Task& task);

/// A table that costs as much as `slice`: it has its columns and its rows, with their
/// lookup_share(). A block may have another share of the lookups than of the rows; its access
/// histogram is then that of as many times more samples (docs/plan_format.md). It has no name and
/// no row shares.
[[nodiscard]] Table table_of(const Task& task, const TableSlice& slice);

/// slice_bytes() of its columns and rows.
[[nodiscard]] std::int64_t slice_bytes(const Task& task, const TableSlice& slice);

/// Memory that table `table` of `task` takes on each device if it is replicated: docs/memory.md.
/// Gathered gradients are those of Task::batch_size samples.
[[nodiscard]] SliceMemory replica_memory(const Task& task, int table);

/// Memory that all replicas and hot rows of `plan`, which is valid, take on each device.
[[nodiscard]] SliceMemory replicas_memory(const Task& task, const Plan& plan);

/// True if `slice` has not all rows of its table.
[[nodiscard]] bool is_row_block(const Task& task, const TableSlice& slice);
[[nodiscard]] bool has_row_blocks(const Task& task, const Plan& plan);

/// [tables]: the kinds of sharding of which each table is in `plan`, which is valid. Several if one
/// is the least case of another, or if the task has but one node or device
/// (docs/task_format.md, "Kinds").
[[nodiscard]] std::vector<std::vector<ShardingKind>> sharding_kinds(const Task& task,
                                                                    const Plan& plan);

/// [devices]: the slices on each device, in the order of its shard. `plan` is valid.
[[nodiscard]] std::vector<std::vector<TableSlice>> slices_by_device(const Plan& plan);

/// Throws Error unless `plan` places every row and column of every table of `task` on exactly one
/// of `task.devices` devices, or replicates the table. Does not look at memory and rules.
void validate(const Plan& plan, const Task& task);

/// Milliseconds of one training iteration of Task::batch_size.
struct DeviceCost {
  /// Forward and backward of the embedding operators of its slices, over `speed`; and
  /// `replicas_ms`, `fetch_ms` and `base_ms`.
  double compute_ms = 0.0;
  double forward_ms = 0.0;       ///< All-to-all of the forward pass.
  double backward_ms = 0.0;      ///< All-to-all of the backward pass.
  double ids_ms = 0.0;           ///< All-to-all of the ids, before the forward pass.
  double replicas_ms = 0.0;      ///< Operator of replicated tables, for its part of the batch.
  double all_reduce_ms = 0.0;    ///< Gradients of replicated tables, and the update by them.
  double dense_ms = 0.0;         ///< No all-to-all hides so much of the task's dense part.
  double fetch_ms = 0.0;         ///< Fetching of rows that wait in the host's memory.
  double ssd_ms = 0.0;           ///< So much of `fetch_ms` is for the SSD, where they wait as well.
  double hidden_fetch_ms = 0.0;  ///< So much of `fetch_ms` runs behind the iteration before.
  double hidden_ms = 0.0;        ///< So much of `ids_ms` runs behind the iteration before.
  std::int64_t memory_bytes = 0;  ///< Slices and replicas together: the total of `memory`.
  std::int64_t host_bytes = 0;    ///< Slices in the host's memory.
  std::int64_t ssd_bytes = 0;     ///< Slices on the SSD.
  std::int64_t dim_sum = 0;       ///< output_columns() of its slices.
  double lookups = 0.0;           ///< Per sample, of its slices.
  int slices = 0;
  SliceMemory memory{};
  std::int64_t reserved_bytes = 0;
  double speed = 1.0;           ///< Speed that the task lists.
  double base_ms = 0.0;         ///< Base load, as the task lists it.
  std::int64_t base_bytes = 0;  ///< Base load, as the task lists it.
  std::int64_t free_bytes = 0;  ///< Room left on the device. Below 0: it does not fit.

  [[nodiscard]] double total_ms() const {
    return compute_ms + backward_ms + forward_ms + ids_ms + all_reduce_ms + dense_ms - hidden_ms -
           hidden_fetch_ms;
  }
};

struct PlanCost {
  std::vector<DeviceCost> devices;
  /// The slowest device takes so long, or the host; infinite if there is no plan.
  double cost_ms = 0.0;
  double host_ms = 0.0;      ///< Overlap::host_ms of the task.
  bool fits_memory = false;  ///< False: some device lacks memory, and the plan cannot run.
  bool prefetched = false;   ///< HostMemory::prefetch of the task, if it has such memory.
  /// [slices]: the share of its rows that HBM has room for, of a task with host memory; else empty.
  std::vector<double> hbm_shares{};
  /// [slices]: the share of its rows that waits on the SSD, of a task with one; else empty.
  std::vector<double> ssd_shares{};
  /// Not empty if a predicted time is negative. A Planner also warns if tables, slices or devices
  /// lie outside what the models were trained on (training_ranges.h). It warns, too, if costs of
  /// another type of weights or batch are asked for than they predict (prediction_limits.h).
  std::string warning;

  /// The slowest device takes so long. Plans are compared by it: a host that takes longer hides it.
  [[nodiscard]] double slowest_ms() const {
    double slowest = devices.empty() ? cost_ms : -std::numeric_limits<double>::infinity();
    for (const DeviceCost& device : devices) slowest = std::max(slowest, device.total_ms());
    return slowest;
  }
  /// `device`, one of this plan, fetches so long behind the iteration before.
  [[nodiscard]] double prefetched_ms(const DeviceCost& device) const {
    return prefetched ? device.fetch_ms : 0.0;
  }
  /// Whether the host takes longer than the slowest device.
  [[nodiscard]] bool set_by_host() const { return host_ms > 0.0 && host_ms > slowest_ms(); }
};

}  // namespace neuroshard
#pragma GCC visibility pop
