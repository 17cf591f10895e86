#include "neuroshard/explanation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>

#include "core/final_cost.h"
#include "core/id_exchange.h"
#include "core/slice_prices.h"
#include "core/slice_tables.h"
#include "core/table_rules.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"

namespace neuroshard {
namespace {

/// The slices of a plan, and others that might take their place.
class Pieces {
 public:
  Pieces(const Backend& backend, const Task& task, const Plan& plan)
      : tables_(task),
        prices_(backend, task, plan),
        of_operator_(backend.table_features(), static_cast<double>(task.batch_size)) {}

  /// Returns the id of the piece.
  std::uint32_t add(const TableSlice& slice) {
    const Table table = tables_.of(slice);
    of_operator_.append(table, slice.dim, features_);
    prices_ms_.push_back(prices_.ms_of(slice));
    const bool priced = prices_ms_.back().has_value();
    dims_.push_back(priced ? 0.0F : static_cast<float>(slice.dim));
    lookups_.push_back(priced ? 0 : lookup_units(table.pooling_factor));
    return static_cast<std::uint32_t>(dims_.size() - 1);
  }

  /// What the all-to-alls have of it: nothing of a piece that has a price.
  [[nodiscard]] float dim(std::uint32_t piece) const { return dims_[piece]; }
  [[nodiscard]] std::int64_t lookups(std::uint32_t piece) const { return lookups_[piece]; }
  /// [pieces]; nothing: the models predict it.
  [[nodiscard]] std::span<const std::optional<double>> prices_ms() const { return prices_ms_; }
  [[nodiscard]] std::vector<float> embeddings(const Backend& backend) const {
    std::vector<float> embeddings(dims_.size() *
                                  static_cast<std::size_t>(backend.embedding_width()));
    backend.embed_pieces(features_, embeddings);
    return embeddings;
  }

 private:
  SliceTables tables_;
  SlicePrices prices_;
  OperatorFeatures of_operator_;
  std::vector<float> features_;
  std::vector<std::optional<double>> prices_ms_;
  std::vector<float> dims_;
  std::vector<std::int64_t> lookups_;
};

using Shard = std::vector<std::uint32_t>;  ///< Pieces of a device.

/// A device with other pieces than in the plan.
struct ChangedShard {
  std::size_t device;
  Shard pieces;
};
using Change = std::vector<ChangedShard>;

/// Prices many changes of a plan in few calls of the backend.
class ChangeCosts {
 public:
  /// `devices`: of the plan, as simulate() has them. What replicas cost does not change.
  ChangeCosts(const Backend& backend, const Task& task, const Pieces& pieces,
              const std::vector<Shard>& shards, const std::vector<DeviceCost>& devices)
      : backend_(backend),
        pieces_(pieces),
        embeddings_(pieces.embeddings(backend)),
        devices_(shards.size()),
        compute_(compute_on_devices(task)),
        all_reduce_ms_(devices.front().all_reduce_ms) {
    std::vector<const Shard*> all;
    all.reserve(shards.size());
    for (const Shard& shard : shards) all.push_back(&shard);
    compute_ms_ = compute_of(all);
    for (std::size_t d = 0; d < devices_; ++d) {
      replicas_ms_.push_back(static_cast<float>(devices[d].replicas_ms));
      compute_ms_[d] = compute_.compute_ms(d, compute_ms_[d]) + replicas_ms_[d];
    }
    for (const Shard& shard : shards) {
      dim_sums_.push_back(dim_sum(shard));
      lookups_.push_back(lookups(shard));
    }
  }

  [[nodiscard]] std::vector<ChangedCost> of(const std::vector<Change>& changes) const {
    constexpr std::size_t kNumbers = std::size_t{1} << 18;  // Of a batch; bounds its memory.
    const std::size_t rows = std::max<std::size_t>(1, kNumbers / devices_);
    std::vector<ChangedCost> costs;
    for (std::size_t first = 0; first < changes.size(); first += rows) {
      add_costs(std::span(changes).subspan(first, std::min(rows, changes.size() - first)), costs);
    }
    return costs;
  }

 private:
  [[nodiscard]] float dim_sum(const Shard& shard) const {
    float sum = 0.0F;
    for (const std::uint32_t piece : shard) sum += pieces_.dim(piece);
    return sum;
  }

  [[nodiscard]] std::int64_t lookups(const Shard& shard) const {
    std::int64_t sum = 0;
    for (const std::uint32_t piece : shard) sum += pieces_.lookups(piece);
    return sum;
  }

  [[nodiscard]] double ids_ms(const Change& change, IdExchange& ids) const {
    if (!ids.priced()) return 0.0;
    std::vector<std::int64_t> changed = lookups_;
    for (const auto& [device, pieces] : change) changed[device] = lookups(pieces);
    return ids.ms(id_columns(*std::ranges::max_element(changed)));
  }

  [[nodiscard]] std::vector<float> compute_of(const std::vector<const Shard*>& shards) const {
    std::vector<std::uint32_t> offsets{0};
    std::vector<std::uint32_t> ids;
    for (const Shard* shard : shards) {
      ids.insert(ids.end(), shard->begin(), shard->end());
      offsets.push_back(static_cast<std::uint32_t>(ids.size()));
    }
    std::vector<float> cost_ms(shards.size());
    score_with_prices(backend_, embeddings_, {offsets, ids}, pieces_.prices_ms(), cost_ms);
    return cost_ms;
  }

  void add_costs(std::span<const Change> changes, std::vector<ChangedCost>& costs) const {
    std::vector<const Shard*> changed;
    for (const Change& change : changes) {
      for (const ChangedShard& shard : change) changed.push_back(&shard.pieces);
    }
    const std::vector<float> changed_ms = compute_of(changed);
    std::vector<float> compute_ms;
    std::vector<float> dim_sums;
    std::size_t next = 0;
    for (const Change& change : changes) {
      const std::size_t row = compute_ms.size();
      compute_ms.insert(compute_ms.end(), compute_ms_.begin(), compute_ms_.end());
      dim_sums.insert(dim_sums.end(), dim_sums_.begin(), dim_sums_.end());
      for (const auto& [device, pieces] : change) {
        compute_ms[row + device] =
            compute_.compute_ms(device, changed_ms[next++]) + replicas_ms_[device];
        dim_sums[row + device] = dim_sum(pieces);
      }
    }
    const auto devices = static_cast<int>(devices_);
    std::vector<float> backward_ms(dim_sums.size());
    std::vector<float> offsets_ms(dim_sums.size());
    std::vector<float> forward_ms(dim_sums.size());
    backend_.backward_comm(devices, dim_sums, backward_ms);
    for (std::size_t row = 0; row < dim_sums.size(); row += devices_) {
      start_offsets(&compute_ms[row], &backward_ms[row], devices, &offsets_ms[row]);
    }
    backend_.forward_comm(devices, dim_sums, offsets_ms, forward_ms);
    std::size_t row = 0;
    IdExchange ids(backend_, devices);
    for (const Change& change : changes) {
      ChangedCost cost;
      const double ids_ms = this->ids_ms(change, ids);
      cost.plan_ms =
          slowest_device_ms(&compute_ms[row], &backward_ms[row], &forward_ms[row], devices) +
          ids_ms + all_reduce_ms_;
      for (const ChangedShard& shard : change) {
        const std::size_t at = row + shard.device;
        const double device_ms = DeviceCost{.compute_ms = compute_ms[at],
                                            .forward_ms = forward_ms[at],
                                            .backward_ms = backward_ms[at],
                                            .ids_ms = ids_ms,
                                            .all_reduce_ms = all_reduce_ms_}
                                     .total_ms();
        cost.device_ms =
            &shard == &change.front() ? device_ms : std::max(cost.device_ms, device_ms);
      }
      costs.push_back(cost);
      row += devices_;
    }
  }

  const Backend& backend_;
  const Pieces& pieces_;
  std::vector<float> embeddings_;
  std::size_t devices_;
  ComputeOnDevices compute_;
  double all_reduce_ms_;
  std::vector<float> replicas_ms_;     ///< [devices]
  std::vector<float> compute_ms_;      ///< [devices]: with base loads, speeds and replicas.
  std::vector<float> dim_sums_;        ///< [devices]
  std::vector<std::int64_t> lookups_;  ///< [devices]
};

/// Slices of each device, as the plan lists them.
using Slices = std::vector<std::vector<TableSlice>>;

Shard without(const Shard& shard, const std::vector<TableSlice>& slices, int table) {
  Shard kept;
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
             Pieces& pieces)
      : task_(task),
        slices_(slices),
        plan_(plan),
        table_(table),
        holders_(holders_of(slices, table)) {
    const Table& uncut = task.tables[static_cast<std::size_t>(table)];
    const TableSlice whole{table, 0, uncut.dim, 0, uncut.rows};
    whole_ = pieces.add(whole);
    if (const auto one = joined(slices[static_cast<std::size_t>(plan.by_cost.front())])) {
      merged_ = pieces.add(*one);
    }
  }

  [[nodiscard]] CutExplanation price(const std::vector<Shard>& shards,
                                     const ChangeCosts& costs) const {
    const auto here = static_cast<std::size_t>(plan_.by_cost.front());
    CutExplanation cut{.table = table_, .slices_here = holders_.at(here)};
    for (const auto& [device, count] : holders_) cut.slices += count;
    if (cut.slices_here > 1 && merged_) {
      Shard pieces = without(shards[here], slices_[here], table_);
      pieces.push_back(*merged_);
      cut.merged = costs.of({{{here, std::move(pieces)}}})[0];
    }
    std::vector<int> devices;
    std::vector<Change> changes;
    for (std::size_t device = 0; device < shards.size(); ++device) {
      if (!may_hold_all(device)) continue;
      devices.push_back(static_cast<int>(device));
      changes.push_back(moved_to(device, shards));
    }
    const std::vector<ChangedCost> moved = costs.of(changes);
    const auto best = std::ranges::min_element(moved, {}, &ChangedCost::plan_ms);
    if (best != moved.end()) {
      cut.whole = *best;
      cut.whole_device = devices[static_cast<std::size_t>(best - moved.begin())];
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

  [[nodiscard]] bool may_hold_all(std::size_t device) const {
    const Table& table = task_.tables[static_cast<std::size_t>(table_)];
    std::int64_t bytes = plan_.cost.devices[device].memory_bytes + table.size_bytes();
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

  [[nodiscard]] Change moved_to(std::size_t target, const std::vector<Shard>& shards) const {
    Change change;
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
void add_slices(const Plan& plan, const Slices& slices, const std::vector<Shard>& shards,
                const ChangeCosts& costs, PlanExplanation& explanation) {
  for (std::size_t device = 0; device < slices.size(); ++device) {
    std::vector<Change> changes;
    for (std::size_t left_out = 0; left_out < slices[device].size(); ++left_out) {
      Shard kept = shards[device];
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(left_out));
      changes.push_back({{device, std::move(kept)}});
    }
    const std::vector<ChangedCost> without = costs.of(changes);
    std::vector<SliceExplanation>& explained = explanation.slices.emplace_back();
    for (std::size_t i = 0; i < without.size(); ++i) {
      explained.push_back({plan.shards[device][i], slices[device][i], without[i]});
    }
  }
}

void rank_devices(PlanExplanation& explanation) {
  const std::vector<DeviceCost>& devices = explanation.cost.devices;
  explanation.by_cost.resize(devices.size());
  std::iota(explanation.by_cost.begin(), explanation.by_cost.end(), 0);
  std::ranges::stable_sort(explanation.by_cost, std::greater<>(), [&](int device) {
    return devices[static_cast<std::size_t>(device)].total_ms();
  });
  const auto ready_ms = [](const DeviceCost& device) {
    return device.compute_ms + device.backward_ms;
  };
  const double first = ready_ms(*std::ranges::min_element(devices, {}, ready_ms));
  for (const DeviceCost& device : devices) {
    explanation.start_offset_ms.push_back(ready_ms(device) - first);
  }
}

}  // namespace

PlanExplanation explain(const Backend& backend, const Task& task, const Plan& plan) {
  PlanExplanation explanation{.cost = simulate(backend, task, plan)};
  rank_devices(explanation);
  const Slices slices = slices_by_device(plan);
  Pieces pieces(backend, task, plan);
  std::vector<Shard> shards;
  for (const std::vector<TableSlice>& shard : slices) {
    Shard& ids = shards.emplace_back();
    for (const TableSlice& slice : shard) ids.push_back(pieces.add(slice));
  }
  std::vector<UndoneCuts> cuts;
  const auto deciding = static_cast<std::size_t>(explanation.by_cost.front());
  for (const int table : cut_tables(task, slices[deciding])) {
    cuts.emplace_back(task, slices, explanation, table, pieces);
  }
  const ChangeCosts costs(backend, task, pieces, shards, explanation.cost.devices);
  add_slices(plan, slices, shards, costs, explanation);
  for (const UndoneCuts& cut : cuts) explanation.cuts.push_back(cut.price(shards, costs));
  return explanation;
}

}  // namespace neuroshard
