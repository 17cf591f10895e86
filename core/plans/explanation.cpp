#include "neuroshard/explanation.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "core/base/count_up.h"
#include "core/plans/host_rows.h"
#include "core/plans/placed_pieces.h"
#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "core/tables/host_shares.h"
#include "core/tables/table_rules.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"

namespace neuroshard {
namespace {

using ChangeShard = std::vector<std::uint32_t>;  ///< Pieces of a device.

/// A device with other pieces than in the plan, or another base load or speed than the task's.
struct ChangedShard {
  std::size_t device;
  ChangeShard pieces;
  std::optional<double> base_ms{};
  std::optional<double> speed{};
};
using PlanChange = std::vector<ChangedShard>;

/// Prices changes of a plan, as simulate() does.
class ChangeCosts {
 public:
  /// Borrows all. `pieces` are embedded, `shards` [devices] those of the plan. `devices` are its
  /// costs by simulate().
  ChangeCosts(const Backend& backend, const PricedPlan& priced, const PlacedPieces& pieces,
              const std::vector<ChangeShard>& shards, const std::vector<DeviceCost>& devices)
      : task_(priced.task()),
        pieces_(pieces),
        sums_(sums_of(shards)),
        devices_(without_tables(task_)),
        host_curves_(task_),
        replica_bytes_(replicas_memory(task_, priced.plan()).total_bytes()),
        any_slices_(!priced.plan().slices.empty()) {
    if (has_tables_on_every_device(priced.plan())) {
      replicas_ = cost_of_replicas(backend, priced.with_all_ids(), task_, priced.plan());
    }
    if (task_.host.bytes == 0) return;
    for (const DeviceCost& device : devices) hosted_.push_back({.fetch_ms = device.fetch_ms});
  }

  /// The cost of replicas changes with speeds alone. Infinite where predictions overflow.
  [[nodiscard]] ChangedCost of(const PlanChange& change) const {
    Task on = devices_;
    std::vector<HostedPlan::OfDevice> hosted = hosted_;
    std::optional<ReplicasCost> replicas = replicas_;
    for (const auto& [device, pieces, base_ms, speed] : change) {
      if (!hosted.empty()) hosted[device].fetch_ms = fetched_ms(device, pieces);
      if (base_ms) on.device_list[device].base_ms = *base_ms;
      if (!speed) continue;
      if (replicas) replicas->operator_ms[device] *= on.device_list[device].speed / *speed;
      on.device_list[device].speed = *speed;
    }
    constexpr double kNever = std::numeric_limits<double>::infinity();
    try {
      PlanCost cost = pieces_.cost_of(on, hosted, changed_sums(change));
      if (replicas) add_replicas(*replicas, any_slices_, on.overlap, cost);
      ChangedCost changed{.plan_ms = cost.cost_ms, .device_ms = -kNever};
      for (const ChangedShard& shard : change) {
        changed.device_ms = std::max(changed.device_ms, cost.devices[shard.device].total_ms());
      }
      return changed;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kBackend) throw;
      return {kNever, kNever};
    }
  }

 private:
  [[nodiscard]] std::vector<ShardSums> sums_of(const std::vector<ChangeShard>& shards) const {
    std::vector<std::uint32_t> offsets{0};
    std::vector<std::uint32_t> ids;
    for (const ChangeShard& shard : shards) {
      ids.insert(ids.end(), shard.begin(), shard.end());
      offsets.push_back(static_cast<std::uint32_t>(ids.size()));
    }
    return pieces_.sums_of({offsets, ids});
  }

  /// Only devices that change are summed up anew: there may be a change for each slice of a plan.
  [[nodiscard]] std::vector<ShardSums> changed_sums(const PlanChange& change) const {
    std::vector<ChangeShard> shards;
    for (const ChangedShard& shard : change) shards.push_back(shard.pieces);
    const std::vector<ShardSums> changed = sums_of(shards);
    std::vector<ShardSums> sums = sums_;
    for (std::size_t i = 0; i < change.size(); ++i) sums[change[i].device] = changed[i];
    return sums;
  }

  [[nodiscard]] double fetched_ms(std::size_t device, const ChangeShard& shard) const {
    const HostMemory host = host_of_device(task_, device);
    HostCurve sum;
    for (const std::uint32_t piece : shard) {
      const TableSlice& slice = pieces_.slice(piece);
      const SliceMemory memory = slice_memory(sized_table_of(task_, slice), slice.dim);
      const Table& table = task_.tables[static_cast<std::size_t>(slice.table)];
      sum.add(host_curves_.of(table, slice.rows, memory, host.link_gb_s));
    }
    return fetch_ms(sum, host_point(sum, hbm_room_bytes(task_, device) - replica_bytes_, host),
                    host);
  }

  const Task& task_;
  const PlacedPieces& pieces_;
  std::vector<ShardSums> sums_;                 ///< [devices]
  Task devices_;                                ///< Without tables.
  std::vector<HostedPlan::OfDevice> hosted_{};  ///< [devices] of a task with host memory.
  mutable HostCurves host_curves_;
  std::int64_t replica_bytes_;  ///< On each device.
  std::optional<ReplicasCost> replicas_;
  bool any_slices_;
};

/// Slices of each device, as the plan lists them.
using Slices = std::vector<std::vector<TableSlice>>;

ChangeShard without(const ChangeShard& shard, const std::vector<TableSlice>& slices, int table) {
  ChangeShard kept;
  for (std::size_t i = 0; i < shard.size(); ++i) {
    if (slices[i].table != table) kept.push_back(shard[i]);
  }
  return kept;
}

/// Where a table has slices, and how many.
std::map<std::size_t, int> holders_of(const Slices& slices, int table) {
  std::map<std::size_t, int> count;
  for (std::size_t device = 0; device < slices.size(); ++device) {
    for (const TableSlice& slice : slices[device]) {
      if (slice.table == table) ++count[device];
    }
  }
  return count;
}

/// Changes that undo the cuts of a table.
class UndoneCuts {
 public:
  UndoneCuts(const Task& task, const Slices& slices, const PlanExplanation& plan, int table,
             PlacedPieces& pieces)
      : task_(task),
        slices_(slices),
        plan_(plan),
        table_(table),
        holders_(holders_of(slices, table)) {
    const Table& uncut = task.tables[static_cast<std::size_t>(table)];
    const TableSlice whole{table, 0, uncut.dim, 0, uncut.rows};
    whole_ = pieces.add(whole);
    if (const auto one = joined(slices[static_cast<std::size_t>(plan.deciding)])) {
      merged_ = pieces.add(*one);
    }
  }

  [[nodiscard]] CutExplanation price(const std::vector<ChangeShard>& shards,
                                     const ChangeCosts& costs) const {
    const auto here = static_cast<std::size_t>(plan_.deciding);
    CutExplanation cut{.table = table_, .slices_here = holders_.at(here)};
    for (const auto& [device, count] : holders_) cut.slices += count;
    if (cut.slices_here > 1 && merged_) {
      ChangeShard pieces = without(shards[here], slices_[here], table_);
      pieces.push_back(*merged_);
      cut.merged = costs.of({{here, std::move(pieces)}});
    }
    for (std::size_t device = 0; device < shards.size(); ++device) {
      if (!may_hold_all(device)) continue;
      const ChangedCost moved = costs.of(moved_to(device, shards));
      if (cut.whole && moved.plan_ms >= cut.whole->plan_ms) continue;
      cut.whole = moved;
      cut.whole_device = static_cast<int>(device);
    }
    return cut;
  }

 private:
  /// One slice in the place of the table's: all columns of the same rows, or all rows of the same
  /// columns. Nothing if they are neither.
  [[nodiscard]] std::optional<TableSlice> joined(const std::vector<TableSlice>& shard) const {
    std::optional<TableSlice> one;
    bool same_rows = true;
    bool same_columns = true;
    for (const TableSlice& slice : shard) {
      if (slice.table != table_) continue;
      if (!one) {
        one = slice;
        continue;
      }
      same_rows &= slice.first_row == one->first_row && slice.rows == one->rows;
      same_columns &= slice.first_column == one->first_column && slice.dim == one->dim;
    }
    if (!one || !(same_rows || same_columns)) return std::nullopt;
    int dim = 0;
    std::int64_t rows = 0;
    for (const TableSlice& slice : shard) {
      if (slice.table != table_) continue;
      dim += slice.dim;
      rows += slice.rows;
    }
    if (same_rows) {
      one->dim = dim;
    } else {
      one->rows = rows;
    }
    return one;
  }

  /// That other devices of its node take of the memory which they share.
  [[nodiscard]] std::int64_t host_bytes_of_others(std::size_t device) const {
    const auto of_node = static_cast<std::size_t>(task_.devices_per_node);
    std::int64_t bytes = -plan_.cost.devices[device].host_bytes;
    for (std::size_t d = 0; d < plan_.cost.devices.size(); ++d) {
      if (d / of_node == device / of_node) bytes += plan_.cost.devices[d].host_bytes;
    }
    return bytes;
  }

  [[nodiscard]] bool may_hold_all(std::size_t device) const {
    const Table& table = task_.tables[static_cast<std::size_t>(table_)];
    const DeviceCost& there = plan_.cost.devices[device];
    std::int64_t bytes =
        there.memory_bytes + there.host_bytes + there.ssd_bytes + table.size_bytes();
    if (pools_host_memory(task_)) bytes += host_bytes_of_others(device);
    for (const TableSlice& slice : slices_[device]) {
      if (slice.table == table_) bytes -= slice_bytes(task_, slice);
    }
    return bytes <= room_bytes(task_, device) &&
           table.rules.allow(static_cast<int>(device), task_.devices_per_node) &&
           may_be_in_columns(task_, table) && keeps_groups(device);
  }

  /// Whether groups let all of the table be on `device`, where the others are as they are.
  [[nodiscard]] bool keeps_groups(std::size_t device) const {
    return std::ranges::all_of(task_.groups, [&](const TableGroup& group) {
      if (std::ranges::find(group.tables, table_) == group.tables.end()) return true;
      for (std::size_t d = 0; d < slices_.size(); ++d) {
        // Together, the others are nowhere else; apart, they are not there.
        if ((d == device) == (group.keep == Keep::kTogether)) continue;
        for (const TableSlice& slice : slices_[d]) {
          if (slice.table != table_ &&
              std::ranges::find(group.tables, slice.table) != group.tables.end()) {
            return false;
          }
        }
      }
      return true;
    });
  }

  [[nodiscard]] PlanChange moved_to(std::size_t target,
                                    const std::vector<ChangeShard>& shards) const {
    PlanChange change;
    for (const auto& [device, count] : holders_) {
      change.push_back({device, without(shards[device], slices_[device], table_)});
    }
    auto at = std::ranges::find(change, target, &ChangedShard::device);
    if (at == change.end()) at = change.insert(at, {target, shards[target]});
    at->pieces.push_back(whole_);
    return change;
  }

  const Task& task_;
  const Slices& slices_;
  const PlanExplanation& plan_;
  int table_;
  std::map<std::size_t, int> holders_;
  std::optional<std::uint32_t> merged_;
  std::uint32_t whole_ = 0;
};

/// Tables of `slices`, which are those of one device, that are cut.
std::vector<int> cut_tables(const Task& task, const std::vector<TableSlice>& slices) {
  std::vector<int> tables;
  for (const TableSlice& slice : slices) {
    if (slice.dim < task.tables[static_cast<std::size_t>(slice.table)].dim ||
        is_row_block(task, slice)) {
      tables.push_back(slice.table);
    }
  }
  std::ranges::sort(tables);
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  return tables;
}

/// Leaves each slice out.
void add_slices(const Plan& plan, const Slices& slices, const std::vector<ChangeShard>& shards,
                const ChangeCosts& costs, PlanExplanation& explanation) {
  for (std::size_t device = 0; device < slices.size(); ++device) {
    std::vector<SliceExplanation>& explained = explanation.slices.emplace_back();
    for (std::size_t i = 0; i < slices[device].size(); ++i) {
      ChangeShard kept = shards[device];
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      explained.push_back(
          {plan.shards[device][i], slices[device][i], costs.of({{device, std::move(kept)}})});
    }
  }
}

void rank_devices(PlanExplanation& explanation) {
  const std::vector<DeviceCost>& devices = explanation.cost.devices;
  explanation.by_cost = count_up<int>(devices.size());
  std::ranges::stable_sort(explanation.by_cost, std::greater<>(), [&](int device) {
    return devices[static_cast<std::size_t>(device)].total_ms();
  });
  explanation.start_offset_ms = start_offsets_ms(explanation.cost);
  explanation.deciding = deciding_device(explanation.cost);
}

/// Takes away what each device is late by.
void add_devices(const Task& task, const std::vector<ChangeShard>& shards, const ChangeCosts& costs,
                 PlanExplanation& explanation) {
  const std::vector<double> waits = waits_ms(explanation.cost);
  explanation.devices.resize(shards.size());
  for (std::size_t device = 0; device < shards.size(); ++device) {
    DeviceExplanation& explained = explanation.devices[device];
    explained.wait_ms = waits[device];
    if (!shards[device].empty()) {
      explained.without_slices = costs.of({{.device = device, .pieces = {}}});
    }
    if (task.device_list.empty()) continue;
    if (task.device_list[device].base_ms > 0.0) {
      explained.without_base =
          costs.of({{.device = device, .pieces = shards[device], .base_ms = 0.0}});
    }
    if (task.device_list[device].speed < 1.0) {
      explained.at_full_speed =
          costs.of({{.device = device, .pieces = shards[device], .speed = 1.0}});
    }
  }
}

}  // namespace

PlanExplanation explain(const Backend& backend, const Task& given, const Plan& given_plan) {
  PlanExplanation explanation{.cost = simulate(backend, given, given_plan)};
  const PricedPlan priced(given, given_plan);
  const Plan& plan = priced.plan();
  const Task& task = priced.task();
  rank_devices(explanation);
  const Slices slices = slices_by_device(plan);
  PlacedPieces pieces(backend, task, plan);
  std::vector<ChangeShard> shards;
  for (const std::vector<TableSlice>& shard : slices) {
    ChangeShard& ids = shards.emplace_back();
    for (const TableSlice& slice : shard) ids.push_back(pieces.add(slice));
  }
  std::vector<UndoneCuts> cuts;
  const auto deciding = static_cast<std::size_t>(explanation.deciding);
  for (const int table : cut_tables(task, slices[deciding])) {
    cuts.emplace_back(task, slices, explanation, table, pieces);
  }
  pieces.embed();
  const ChangeCosts costs(backend, priced, pieces, shards, explanation.cost.devices);
  add_devices(task, shards, costs, explanation);
  add_slices(plan, slices, shards, costs, explanation);
  for (const UndoneCuts& cut : cuts) explanation.cuts.push_back(cut.price(shards, costs));
  return explanation;
}

}  // namespace neuroshard
