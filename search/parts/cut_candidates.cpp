#include "search/parts/cut_candidates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>

#include "core/plans/replicas.h"
#include "core/tables/table_kind.h"
#include "core/tables/table_rules.h"
#include "neuroshard/table_features.h"
#include "search/parts/column_parts.h"
#include "search/parts/even_blocks.h"
#include "search/parts/required_blocks.h"
#include "search/parts/table_loads.h"

namespace neuroshard {
namespace {

/// Over the time that the models predict.
struct Speeds {
  double mean = 1.0;
  double slowest = 1.0;
};

Speeds speeds_of(const Task& task) {
  if (task.device_list.empty()) return {};
  Speeds speeds{.mean = 0.0, .slowest = kMostSpeed};
  for (const Device& device : task.device_list) {
    speeds.mean += device.speed;
    speeds.slowest = std::min(speeds.slowest, device.speed);
  }
  speeds.mean /= task.devices;  // Exactly 1 if all are.
  return speeds;
}

/// A table that takes so much of each device.
CutCandidate candidate_of(const Task& task, std::uint32_t table, std::int64_t device_bytes) {
  return {.table = table,
          .device_bytes = device_bytes,
          .more_bytes = task.devices * static_cast<double>(device_bytes) -
                        static_cast<double>(task.tables[table].size_bytes())};
}

/// Exchange of its gradients and the update by them, beyond latencies.
double gradients_ms(const AllReduceModel& model, int devices, const Table& table,
                    const TouchedGradients& touched) {
  constexpr double kManyBytes = 1e9;
  const double ms_of_byte =
      (model.all_reduce_ms(devices, 2 * kManyBytes) - model.all_reduce_ms(devices, kManyBytes)) /
      kManyBytes;
  const std::array tables = {&table};
  const GatherTraffic once = touched.traffic(tables);
  GatherTraffic twice = once;
  twice.gathered_bytes *= 2.0;
  twice.update_bytes *= 2.0;
  return ms_of_byte * dense_gradient_bytes(table) + gather_ms(model, devices, twice) -
         gather_ms(model, devices, once);
}

// Not by where the task lists them: equal tables may take each other's place, no others.
void sort_by_gain(const Task& task, std::vector<CutCandidate>& candidates) {
  std::ranges::stable_sort(candidates, [&](const CutCandidate& a, const CutCandidate& b) {
    if (a.gain != b.gain) return a.gain > b.gain;
    return kind_of(task.tables[a.table]) < kind_of(task.tables[b.table]);
  });
}

// Tables in row blocks that gain less are not worth a plan.
constexpr double kLeastBlockGain = 0.5;

/// Even blocks of tables on groups of devices side by side, if those have a price.
class PricedBlocks {
 public:
  /// `group`: one of block_groups(), or 0: none.
  PricedBlocks(const Backend& backend, const Task& task, int group)
      : task_(task),
        group_(group),
        price_(group == 0 ? nullptr
                          : backend.kind_price(group == task.devices ? ShardingKind::kRow
                                                                     : ShardingKind::kTableRow)) {}

  [[nodiscard]] bool any() const { return price_ != nullptr; }
  /// Time that a table takes of each device on average, by its busiest block; infinite if it may
  /// not be in such blocks, or they have no price.
  [[nodiscard]] double mean_ms(std::uint32_t t) const {
    const Table& table = task_.tables[t];
    if (!any() || !may_be_cut(task_, table, group_)) return kDearest;
    return busiest_block_ms(*price_, task_, t, table.dim, group_) * group_ / task_.devices;
  }

 private:
  static constexpr double kDearest = std::numeric_limits<double>::infinity();

  const Task& task_;
  int group_;
  const KindPrice* price_;
};

/// Blocks on the devices of a node, if there are several nodes.
PricedBlocks node_blocks(const Backend& backend, const Task& task) {
  const std::vector<int> groups = block_groups(task);
  return {backend, task, groups.size() > 1 ? groups.back() : 0};
}

PricedBlocks row_wise_blocks(const Backend& backend, const Task& task) {
  return {backend, task, task.devices};
}

// A plan may have a million slices, each of which is a table here for a while.
constexpr std::size_t kSlicesAtOnce = 4096;

/// Times of the slices of a plan by columns; of no use once `stop` is reached.
class ShardedTables {
 public:
  ShardedTables(const Backend& backend, const Task& task, const Plan& sharded, const PlanCost& cost,
                const StopCondition& stop)
      : backend_(backend),
        task_(task),
        stop_(stop),
        prices_(exchange_prices(backend, cost)),
        speed_(speeds_of(task).mean),
        ms_(task.tables.size()) {
    std::vector<Table> slices;
    for (std::size_t first = 0; first < sharded.slices.size(); first += slices.size()) {
      slices.clear();
      const std::size_t end = std::min(first + kSlicesAtOnce, sharded.slices.size());
      for (std::size_t i = first; i < end; ++i) {
        slices.push_back(table_of(task, sharded.slices[i]));
      }
      const std::vector<double> slices_ms = loads_ms(slices);
      for (std::size_t i = first; i < end; ++i) {
        ms_[static_cast<std::size_t>(sharded.slices[i].table)] +=
            slices_ms[i - first] / task.devices;
      }
    }
    mean_ms_ = std::accumulate(ms_.begin(), ms_.end(), 0.0);
  }

  /// Times of slices with all rows, their exchanges included.
  [[nodiscard]] std::vector<double> loads_ms(std::span<const Table> tables) const {
    std::vector<double> ms = operator_ms(backend_, task_, tables, stop_);
    ms.resize(tables.size());
    for (std::size_t i = 0; i < tables.size(); ++i) {
      // Slices give way on slow devices to what blocks take there.
      ms[i] = ms[i] / speed_ + prices_.column_ms * tables[i].dim +
              prices_.ids_ms(tables[i].pooling_factor);
    }
    return ms;
  }

  /// Time that each device saves if these tables have no slices.
  [[nodiscard]] std::vector<double> saved_ms(std::span<const CutCandidate> candidates) const {
    std::vector<double> saved = waited_ms(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      saved[i] = std::max(ms_[candidates[i].table], saved[i]);
    }
    return saved;
  }

  /// Time of the narrowest slices of these tables, if that is more than a device's share of
  /// everything, so that a plan waits for them; else 0.
  [[nodiscard]] std::vector<double> waited_ms(std::span<const CutCandidate> candidates) const {
    std::vector<Table> narrowest;
    for (const CutCandidate& one : candidates) {
      narrowest.push_back(task_.tables[one.table]);
      narrowest.back().dim = narrowest_part(task_.tables[one.table]);
    }
    std::vector<double> waited = loads_ms(narrowest);
    for (double& ms : waited) ms = ms > mean_ms_ ? ms : 0.0;
    return waited;
  }

  /// Time that blocks of these tables on groups of `group` devices take of each device, shared out
  /// over all devices; infinite where a table may not be in such blocks.
  [[nodiscard]] std::vector<double> blocks_ms(std::span<const CutCandidate> candidates,
                                              int group) const {
    std::vector<Table> blocks;
    for (const CutCandidate& one : candidates) {
      blocks.push_back(busiest_block(task_, one.table, group));
    }
    std::vector<double> ms = loads_ms(blocks);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ms[i] = may_be_cut(task_, task_.tables[candidates[i].table], group)
                  ? ms[i] * group / task_.devices
                  : std::numeric_limits<double>::infinity();
    }
    return ms;
  }

 private:
  const Backend& backend_;
  const Task& task_;
  const StopCondition& stop_;
  ExchangePrices prices_;
  double speed_;
  std::vector<double> ms_;  ///< [tables]: of each device, on average.
  double mean_ms_ = 0.0;    ///< Of all tables.
};

std::vector<CutCandidate> tables_for_blocks(const Task& task, int group) {
  std::vector<CutCandidate> candidates;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (!may_be_cut(task, task.tables[t], group)) continue;
    candidates.push_back(candidate_of(task, t, busiest_block(task, t, group).size_bytes()));
  }
  return candidates;
}

double gain_of(double saved_ms, double cost_ms) {
  return saved_ms / std::max(cost_ms, std::numeric_limits<double>::min());
}

void erase_losing(std::vector<CutCandidate>& candidates) {
  std::erase_if(candidates, [](const CutCandidate& one) { return one.gain < kLeastBlockGain; });
}

}  // namespace

std::vector<CutCandidate> replica_candidates(const Backend& backend, const Task& task,
                                             const Plan& sharded, const PlanCost& cost,
                                             const StopCondition& stop) {
  std::vector<CutCandidate> candidates;
  if (task.devices < 2) return candidates;
  const OperatorFeatures of_shards(backend.table_features(), static_cast<double>(task.batch_size));
  const OperatorFeatures of_replicas(backend.table_features(), samples_of_replicas(task));
  const KindPrice* const price = backend.kind_price(ShardingKind::kReplicate);
  std::vector<float> sharded_features;
  std::vector<float> replica_features;
  const std::int64_t least_room = std::ranges::min(rooms_bytes(task));
  const TouchedGradients touched(task);
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (stop.reached()) return {};
    if (!may_be_sharded(task, task.tables[t], ShardingKind::kReplicate)) continue;
    const std::int64_t bytes = replica_memory(task, static_cast<int>(t), touched).total_bytes();
    if (bytes > least_room) continue;
    candidates.push_back(candidate_of(task, t, bytes));
    of_shards.append(task.tables[t], task.tables[t].dim, sharded_features);
    of_replicas.append(task.tables[t], task.tables[t].dim, replica_features);
  }
  const std::size_t count = candidates.size();
  const std::vector<double> whole_ms = operator_ms(backend, sharded_features);
  std::vector<double> replica_ms;
  if (price == nullptr) {
    replica_ms = operator_ms(backend, replica_features);
  } else {
    for (const CutCandidate& one : candidates) {
      replica_ms.push_back(replica_price_ms(*price, task, task.tables[one.table]));
    }
  }
  const PricedBlocks row_wise = row_wise_blocks(backend, task);
  const PricedBlocks on_nodes = node_blocks(backend, task);
  const ExchangePrices prices = exchange_prices(backend, cost);
  const std::vector<double> waited_ms =
      ShardedTables(backend, task, sharded, cost, stop).waited_ms(candidates);
  const Speeds speeds = speeds_of(task);
  for (std::size_t i = 0; i < count; ++i) {
    const Table& table = task.tables[candidates[i].table];
    const double in_columns_ms = (whole_ms[i] / speeds.mean + prices.column_ms * table.dim +
                                  prices.ids_ms(table.pooling_factor)) /
                                 task.devices;
    // Cutting rows spares a plan the waiting.
    const bool in_blocks = may_be_in_blocks(task, table);
    const double sliced_ms = in_blocks ? in_columns_ms : std::max(in_columns_ms, waited_ms[i]);
    const double saved_ms = std::min(
        {sliced_ms, row_wise.mean_ms(candidates[i].table), on_nodes.mean_ms(candidates[i].table)});
    const double cost_ms = replica_ms[i] / speeds.slowest +
                           gradients_ms(*backend.all_reduce(), task.devices, table, touched);
    candidates[i].gain = gain_of(saved_ms, cost_ms);
    candidates[i].net_ms = saved_ms - cost_ms;
  }
  sort_by_gain(task, candidates);
  return candidates;
}

std::vector<CutCandidate> row_wise_candidates(const Backend& backend, const Task& task,
                                              const Plan& sharded, const PlanCost& cost,
                                              const StopCondition& stop) {
  if (task.devices < 2) return {};
  std::vector<CutCandidate> candidates = tables_for_blocks(task, task.devices);
  const ShardedTables tables(backend, task, sharded, cost, stop);
  const std::vector<double> saved_ms = tables.saved_ms(candidates);
  const PricedBlocks priced = row_wise_blocks(backend, task);
  const PricedBlocks on_nodes = node_blocks(backend, task);
  const std::vector<double> blocks_ms = tables.blocks_ms(candidates, task.devices);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint32_t t = candidates[i].table;
    const double others_ms = std::min(saved_ms[i], on_nodes.mean_ms(t));
    const double row_wise_ms = priced.any() ? priced.mean_ms(t) : blocks_ms[i];
    candidates[i].gain = gain_of(others_ms, row_wise_ms);
    candidates[i].net_ms = others_ms - row_wise_ms;
  }
  erase_losing(candidates);
  sort_by_gain(task, candidates);
  return candidates;
}

std::vector<CutCandidate> node_block_candidates(const Backend& backend, const Task& task,
                                                const Plan& sharded, const PlanCost& cost,
                                                const StopCondition& stop) {
  const std::vector<int> groups = block_groups(task);
  if (groups.size() < 2) return {};
  const PricedBlocks priced = node_blocks(backend, task);
  const PricedBlocks row_wise = row_wise_blocks(backend, task);
  std::vector<CutCandidate> candidates = tables_for_blocks(task, groups.back());
  if (priced.any()) {  // add_node_blocks() knows no rules on devices.
    std::erase_if(candidates, [&](const CutCandidate& one) {
      return task.tables[one.table].rules.limit_devices();
    });
  }
  const ShardedTables tables(backend, task, sharded, cost, stop);
  const std::vector<double> saved_ms = tables.saved_ms(candidates);
  const std::vector<double> row_wise_ms = tables.blocks_ms(candidates, task.devices);
  const std::vector<double> blocks_ms = tables.blocks_ms(candidates, groups.back());
  double all_saved_ms = 0.0;
  double all_blocks_ms = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint32_t t = candidates[i].table;
    const double others_ms =
        std::min(saved_ms[i], row_wise.any() ? row_wise.mean_ms(t) : row_wise_ms[i]);
    const double on_nodes_ms = priced.any() ? priced.mean_ms(t) : blocks_ms[i];
    candidates[i].gain = gain_of(others_ms, on_nodes_ms);
    all_saved_ms += others_ms;
    all_blocks_ms += on_nodes_ms;
  }
  if (priced.any() || gain_of(all_saved_ms, all_blocks_ms) < kLeastBlockGain) {
    erase_losing(candidates);
  }
  sort_by_gain(task, candidates);
  return candidates;
}

CutCandidates cut_candidates(const Backend& backend, const Task& task, const Plan& sharded,
                             const PlanCost& cost, const StopCondition& stop) {
  return {.replicas = replica_candidates(backend, task, sharded, cost, stop),
          .row_wise = row_wise_candidates(backend, task, sharded, cost, stop),
          .node_blocks = node_block_candidates(backend, task, sharded, cost, stop)};
}

}  // namespace neuroshard
