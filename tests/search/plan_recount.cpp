#include "search/plan_recount.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/plans/deduplicated_task.h"
#include "neuroshard/cost_terms.h"
#include "neuroshard/histogram_scale.h"
#include "search/host_recount.h"

namespace neuroshard::testing {
namespace {

// docs/memory.md, in numbers of its own.

std::int64_t weight_bytes_of(WeightType type, std::int64_t rows, std::int64_t dim) {
  if (type == WeightType::kFp32) return rows * dim * 4;
  if (type == WeightType::kInt8) return rows * (dim + 8);
  return rows * dim * 2;
}

std::int64_t state_bytes_of(Optimizer optimizer, std::int64_t rows, std::int64_t dim) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kRowwiseAdagrad:
      return rows * 4;
    case Optimizer::kAdagrad:
    case Optimizer::kLarsSgd:
      return rows * dim * 4;
    case Optimizer::kAdam:
    case Optimizer::kLamb:
      return rows * dim * 8;
    case Optimizer::kPartialRowwiseAdam:
    case Optimizer::kPartialRowwiseLamb:
      return rows * (dim * 4 + 4);
  }
  return -1;
}

// `lookups`: of a sample, that the slice has.
double outputs_of(const Table& table, double lookups) {
  return table.pooling == Pooling::kNone ? lookups : std::min(table.features, lookups);
}

std::int64_t buffer_bytes_of(const Table& table, double batch, double lookups, std::int64_t dim) {
  if (batch == 0.0) return 0;
  const double of_lookup = table.weighted ? 12.0 : 8.0;
  return static_cast<std::int64_t>(std::ceil(of_lookup * batch * lookups)) +
         static_cast<std::int64_t>(std::ceil(batch * outputs_of(table, lookups))) * dim * 4;
}

// Lookups below a row, of all of them: parts before it, and its part of the one that it is in.
double lookups_below(const Table& table, std::int64_t row) {
  if (table.row_shares.empty()) return static_cast<double>(row) / static_cast<double>(table.rows);
  const auto parts = static_cast<double>(table.row_shares.size());
  const double sum = std::accumulate(table.row_shares.begin(), table.row_shares.end(), 0.0);
  const double at = static_cast<double>(row) / static_cast<double>(table.rows) * parts;
  double below = 0.0;
  for (std::size_t part = 0; part < table.row_shares.size(); ++part) {
    below += table.row_shares[part] * std::clamp(at - static_cast<double>(part), 0.0, 1.0);
  }
  return below / sum;
}

double share_of(const Table& table, const TableSlice& slice) {
  if (slice.rows == table.rows) return 1.0;
  return lookups_below(table, slice.first_row + slice.rows) - lookups_below(table, slice.first_row);
}

StoredBytes stored_bytes_of(const Table& table, const TableSlice& slice) {
  return {.buffers = buffer_bytes_of(table, static_cast<double>(table.memory.batch_size),
                                     table.pooling_factor * share_of(table, slice), slice.dim),
          .rows = weight_bytes_of(table.memory.weight_type, slice.rows, slice.dim) +
                  state_bytes_of(table.memory.optimizer, slice.rows, slice.dim)};
}

std::int64_t slice_bytes_of(const Table& table, const TableSlice& slice) {
  const StoredBytes stored = stored_bytes_of(table, slice);
  return stored.buffers + stored.rows;
}

// Rows that some samples touch: the histogram of so many samples is the library's, and so is no
// more of this.
double touched_rows_of(const Table& table, double samples) {
  const double lookups = samples * table.pooling_factor;
  if (lookups == 0.0) return 0.0;
  const auto rows = static_cast<double>(table.rows);
  const std::array<double, kHistogramBins> histogram = HistogramScale(samples)(table);
  double shares = 0.0;
  double touches = 0.0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const int first = bin == 0 ? 1 : (1 << (bin - 1)) + 1;
    const int last = 1 << bin;
    double inverse = 0.0;
    for (int count = first; count <= last; ++count) inverse += 1.0 / count;
    shares += histogram[static_cast<std::size_t>(bin)];
    touches += histogram[static_cast<std::size_t>(bin)] * (last - first + 1) / inverse;
  }
  if (shares == 0.0) return std::min(rows, lookups);
  return std::min(rows, lookups / (touches / shares));
}

std::int64_t replica_bytes_of(const Task& task, const Table& table) {
  const std::int64_t devices = task.devices;
  const std::int64_t element = table.memory.weight_type == WeightType::kFp32   ? 4
                               : table.memory.weight_type == WeightType::kInt8 ? 1
                                                                               : 2;
  const std::int64_t part = (table.memory.batch_size + devices - 1) / devices;
  const auto gathered = [&] {
    const double samples = static_cast<double>(task.batch_size) / task.devices;
    return static_cast<std::int64_t>(
        std::ceil(task.devices * touched_rows_of(table, samples) * (8 + 4 * table.dim)));
  };
  return weight_bytes_of(table.memory.weight_type, table.rows, table.dim) +
         state_bytes_of(table.memory.optimizer, table.rows, table.dim) +
         (table.replica_gradients == ReplicaGradients::kDense ? table.rows * table.dim * element
                                                              : gathered()) +
         buffer_bytes_of(table, static_cast<double>(part), table.pooling_factor, table.dim);
}

std::int64_t room_bytes_of(const Task& task, std::size_t device) {
  const bool listed = !task.device_list.empty();
  const std::int64_t memory = listed ? task.device_list[device].memory_bytes : task.memory_bytes;
  const std::int64_t base = listed ? task.device_list[device].base_bytes : 0;
  const auto unreserved =
      static_cast<std::int64_t>((1.0 - task.reserved.share) * static_cast<double>(memory));
  return unreserved - task.reserved.bytes - base;
}

bool may_hold(const Task& task, std::size_t table, int device) {
  const TableRules& rules = task.tables[table].rules;
  const int node = device / task.devices_per_node;
  return (rules.devices.empty() || std::ranges::count(rules.devices, device) > 0) &&
         std::ranges::count(rules.not_devices, device) == 0 &&
         (rules.nodes.empty() || std::ranges::count(rules.nodes, node) > 0) &&
         std::ranges::count(rules.not_nodes, node) == 0;
}

// Every row and column of every table exactly once, or the table on every device.
void expect_all_placed_once(const Task& task, const Plan& plan) {
  ASSERT_EQ(plan.shards.size(), static_cast<std::size_t>(task.devices));
  std::vector<int> placed(plan.slices.size(), 0);
  for (const std::vector<int>& shard : plan.shards) {
    for (const int slice : shard) ++placed.at(static_cast<std::size_t>(slice));
  }
  EXPECT_EQ(std::ranges::count(placed, 1), static_cast<std::ptrdiff_t>(placed.size()));
  std::map<int, std::vector<TableSlice>> by_table;
  for (const TableSlice& slice : plan.slices) by_table[slice.table].push_back(slice);
  EXPECT_TRUE(std::ranges::is_sorted(plan.replicas));
  for (int t = 0; t < static_cast<int>(task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    const std::vector<TableSlice>& slices = by_table[t];
    const auto replicas = std::ranges::count(plan.replicas, t);
    EXPECT_LE(replicas, 1);
    if (replicas == 1) {
      EXPECT_TRUE(slices.empty());
      continue;
    }
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const TableSlice& a = slices[i];
      EXPECT_TRUE(a.first_column >= 0 && a.dim > 0 && a.dim % 4 == 0 &&
                  a.first_column + a.dim <= table.dim);
      EXPECT_TRUE(a.first_row >= 0 && a.rows > 0 && a.first_row + a.rows <= table.rows);
      elements += a.rows * a.dim;
      for (std::size_t j = 0; j < i; ++j) {
        const TableSlice& b = slices[j];
        EXPECT_TRUE(a.first_column + a.dim <= b.first_column ||
                    b.first_column + b.dim <= a.first_column ||
                    a.first_row + a.rows <= b.first_row || b.first_row + b.rows <= a.first_row)
            << "table " << t << ": slices overlap";
      }
    }
    EXPECT_EQ(elements, table.rows * table.dim) << "table " << t;
  }
}

void expect_rules_kept(const Task& task, const Plan& plan) {
  std::vector<int> slices_of(task.tables.size(), 0);
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int index : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const auto t = static_cast<std::size_t>(slice.table);
      ++slices_of[t];
      EXPECT_TRUE(may_hold(task, t, static_cast<int>(d))) << "table " << t;
      EXPECT_GE(slice.dim, std::min(task.tables[t].rules.min_width, task.tables[t].dim))
          << "table " << t;
    }
  }
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const TableRules& rules = task.tables[t].rules;
    if (rules.no_split) {
      EXPECT_LE(slices_of[t], 1) << "table " << t;
    }
    if (rules.max_slices > 0) {
      EXPECT_LE(slices_of[t], rules.max_slices) << "table " << t;
    }
  }
  for (const int t : plan.replicas) {
    for (int d = 0; d < task.devices; ++d) {
      EXPECT_TRUE(may_hold(task, static_cast<std::size_t>(t), d)) << "table " << t;
    }
  }
}

// Decides by docs/task_format.md whether a table is of these kinds. `held` has its slices and the
// device of each; none if it is replicated.
bool is_of_a_kind(const Task& task, const Table& table, const std::vector<ShardingKind>& kinds,
                  const std::vector<std::pair<TableSlice, int>>& held) {
  if (kinds.empty() || task.devices == 1) return true;
  const auto has = [&](ShardingKind kind) { return std::ranges::count(kinds, kind) > 0; };
  if (held.empty()) return has(ShardingKind::kReplicate);
  std::set<int> devices;
  std::set<int> nodes;
  bool all_rows = true;
  bool all_columns = true;
  std::map<int, std::set<int>> of_columns;
  for (const auto& [slice, device] : held) {
    of_columns[slice.first_column].insert(device);
    devices.insert(device);
    nodes.insert(device / task.devices_per_node);
    all_rows &= slice.rows == table.rows;
    all_columns &= slice.dim == table.dim;
  }
  const std::int64_t rows_of_block = (table.rows + task.devices - 1) / task.devices;
  const bool on_all =
      static_cast<std::int64_t>(devices.size()) == (table.rows + rows_of_block - 1) / rows_of_block;
  const bool blocks = all_columns && (!all_rows || table.rows == 1);
  bool each_in_a_node = true;
  bool whole_nodes = true;
  bool parts = true;
  for (const auto& [column, on] : of_columns) {
    const int first = *on.begin() - *on.begin() % task.devices_per_node;
    const int of_node = std::min(task.devices_per_node, task.devices - first);
    const std::int64_t each = (table.rows + of_node - 1) / of_node;
    each_in_a_node = each_in_a_node && *on.rbegin() < first + of_node;
    whole_nodes = whole_nodes && std::ssize(on) >= (table.rows + each - 1) / each;
    parts = parts && std::cmp_less(on.size(), of_node);
  }
  return (all_rows && has(ShardingKind::kColumn)) ||
         (all_rows && all_columns && has(ShardingKind::kTable)) ||
         (blocks && (nodes.size() > 1 || on_all) && has(ShardingKind::kRow)) ||
         (blocks && nodes.size() == 1 && whole_nodes &&
          (has(ShardingKind::kTableRow) || has(ShardingKind::kGrid))) ||
         (!all_columns && (!all_rows || table.rows == 1) && (!each_in_a_node || whole_nodes) &&
          has(ShardingKind::kGrid)) ||
         (!all_rows && each_in_a_node && (parts || !whole_nodes) && has(ShardingKind::kPartRow));
}

void expect_kinds_kept(const Task& task, const Plan& plan) {
  std::vector<std::vector<std::pair<TableSlice, int>>> held(task.tables.size());
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int index : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      held[static_cast<std::size_t>(slice.table)].emplace_back(slice, static_cast<int>(d));
    }
  }
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    EXPECT_TRUE(is_of_a_kind(task, table, table.rules.kinds, held[t])) << "table " << t;
  }
}

// Devices that hold anything of a table, replicas included.
std::vector<std::set<int>> holders_of_tables(const Task& task, const Plan& plan) {
  std::vector<std::set<int>> holders(task.tables.size());
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int index : plan.shards[d]) {
      const int table = plan.slices[static_cast<std::size_t>(index)].table;
      holders[static_cast<std::size_t>(table)].insert(static_cast<int>(d));
    }
    for (const int table : plan.replicas) {
      holders[static_cast<std::size_t>(table)].insert(static_cast<int>(d));
    }
  }
  return holders;
}

void expect_groups_kept(const Task& task, const Plan& plan) {
  if (task.groups.empty()) return;
  const std::vector<std::set<int>> holders = holders_of_tables(task, plan);
  for (std::size_t g = 0; g < task.groups.size(); ++g) {
    std::vector<int> all;
    for (const int table : task.groups[g].tables) {
      const std::set<int>& of_table = holders[static_cast<std::size_t>(table)];
      all.insert(all.end(), of_table.begin(), of_table.end());
    }
    const std::set<int> different(all.begin(), all.end());
    EXPECT_EQ(different.size(), task.groups[g].keep == Keep::kTogether ? 1U : all.size())
        << "group " << g;
  }
}

void expect_memory_kept(const Task& task, const Plan& plan, const PlanCost& cost) {
  EXPECT_TRUE(cost.fits_memory);
  std::map<int, std::int64_t> in_hosts;
  for (int d = 0; d < task.devices; ++d) {
    in_hosts[d / task.devices_per_node] += cost.devices[static_cast<std::size_t>(d)].host_bytes;
  }
  for (const auto& [node, bytes] : in_hosts) {
    if (task.host.of_node) {
      const auto first = static_cast<std::size_t>(node * task.devices_per_node);
      EXPECT_LE(bytes, host_on(task, first).bytes) << "node " << node;
    }
  }
  // Lookups that are left are the library's, as histograms are.
  const DeduplicatedTask deduplicated(task, plan.deduplicated);
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    std::int64_t bytes = 0;
    std::int64_t columns = 0;
    // Sums that are rounded up to bytes may come out one apart where lookups are shared out.
    std::int64_t rounded = 0;
    std::vector<StoredBytes> stored;
    std::int64_t rounded_columns = 0;
    for (const int index : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const Table& table = deduplicated.task().tables[static_cast<std::size_t>(slice.table)];
      bytes += slice_bytes_of(table, slice);
      stored.push_back(stored_bytes_of(table, slice));
      const double outputs = table.pooling == Pooling::kNone
                                 ? table.pooling_factor * share_of(table, slice)
                                 : table.features;
      const auto of_slice = static_cast<std::int64_t>(std::floor(outputs * slice.dim + 0.5));
      columns += std::max<std::int64_t>(1, of_slice);
      // An id, and a sample's output.
      if (slice.rows == table.rows) continue;
      rounded += 1 + 4 * slice.dim;
      if (table.pooling == Pooling::kNone) ++rounded_columns;
    }
    std::int64_t replica_bytes = 0;
    for (const int t : plan.replicas) {
      const Table& table = task.tables[static_cast<std::size_t>(t)];
      replica_bytes += replica_bytes_of(task, table);
      if (table.replica_gradients == ReplicaGradients::kTouched) ++rounded;
    }
    bytes += replica_bytes;
    if (task.host.bytes > 0) {
      expect_fetches(task, plan, cost, d, stored, room_bytes_of(task, d) - replica_bytes);
    } else {
      EXPECT_LE(std::abs(bytes - cost.devices[d].memory_bytes), rounded) << "device " << d;
      EXPECT_LE(bytes, room_bytes_of(task, d) + rounded) << "device " << d;
    }
    EXPECT_LE(std::abs(columns - cost.devices[d].dim_sum), rounded_columns) << "device " << d;
    EXPECT_EQ(cost.devices[d].free_bytes, room_bytes_of(task, d) - cost.devices[d].memory_bytes);
  }
}

void expect_terms_add_up(const Task& task, const PlanCost& cost) {
  ASSERT_EQ(cost.devices.size(), static_cast<std::size_t>(task.devices));
  const std::vector<CostTerm> terms = cost_terms(cost);
  double outputs_ms = INFINITY;
  double gradients_ms = INFINITY;
  for (const DeviceCost& device : cost.devices) {
    outputs_ms = std::min(outputs_ms, device.forward_ms);
    gradients_ms = std::min(gradients_ms, device.backward_ms);
  }
  const Overlap& beside = task.overlap;
  const double dense_ms =
      beside.dense_ms + std::max(0.0, beside.dense_beside_outputs_ms - std::max(0.0, outputs_ms)) +
      std::max(0.0, beside.dense_beside_gradients_ms - std::max(0.0, gradients_ms));
  double slowest_ms = -INFINITY;
  for (std::size_t d = 0; d < cost.devices.size(); ++d) {
    const DeviceCost& device = cost.devices[d];
    double sum_ms = 0.0;
    double size_ms = 0.0;
    for (const CostTerm& term : terms) {
      sum_ms += device.*term.ms;
      size_ms += std::abs(device.*term.ms);
    }
    if (!task.overlap.ids) {
      EXPECT_EQ(device.hidden_ms, 0.0);
    }
    const bool prefetched = task.host.bytes > 0 && task.host.prefetch;
    if (prefetched) sum_ms -= device.fetch_ms;
    double seen_ms = task.overlap.ids ? std::max(sum_ms - device.ids_ms, device.ids_ms) : sum_ms;
    if (prefetched) seen_ms = std::max(seen_ms, device.fetch_ms);
    EXPECT_NEAR(seen_ms, device.total_ms(), 1e-12 * size_ms) << "device " << d;
    EXPECT_NEAR(device.dense_ms, dense_ms, 1e-12 * (dense_ms + size_ms)) << "device " << d;
    if (!task.device_list.empty()) {
      EXPECT_EQ(device.base_ms, task.device_list[d].base_ms);
    }
    slowest_ms = std::max(slowest_ms, device.total_ms());
  }
  EXPECT_EQ(cost.cost_ms, beside.host_ms > 0.0 ? std::max(slowest_ms, beside.host_ms) : slowest_ms);
}

// Whether the groups of a table let it be on device `d`, if others of them are on `device_of`
// (-1: nowhere yet).
bool groups_allow(const Task& task, std::size_t t, int d, const std::vector<int>& device_of) {
  for (const TableGroup& group : task.groups) {
    if (std::ranges::count(group.tables, static_cast<int>(t)) == 0) continue;
    for (const int other : group.tables) {
      const int of_other = device_of[static_cast<std::size_t>(other)];
      if (of_other < 0) continue;
      if ((of_other == d) != (group.keep == Keep::kTogether)) return false;
    }
  }
  return true;
}

}  // namespace

void expect_recounts(const Task& task, const Plan& plan, const PlanCost& cost) {
  expect_all_placed_once(task, plan);
  expect_rules_kept(task, plan);
  expect_kinds_kept(task, plan);
  expect_groups_kept(task, plan);
  expect_memory_kept(task, plan, cost);
  expect_terms_add_up(task, cost);
}

bool first_fit_finds_room(const Task& task) {
  std::vector<std::int64_t> room;
  for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
    room.push_back(room_bytes_of(task, d));
  }
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    order.emplace_back(slice_bytes_of(table, {static_cast<int>(t), 0, table.dim, 0, table.rows}),
                       t);
  }
  std::ranges::sort(order, std::greater<>());
  std::vector<int> device_of(task.tables.size(), -1);
  for (const auto& [bytes, t] : order) {
    std::size_t d = 0;
    while (d < room.size() && (room[d] < bytes || !may_hold(task, t, static_cast<int>(d)) ||
                               !groups_allow(task, t, static_cast<int>(d), device_of))) {
      ++d;
    }
    if (d == room.size()) return false;
    device_of[t] = static_cast<int>(d);
    room[d] -= bytes;
  }
  return true;
}

}  // namespace neuroshard::testing
