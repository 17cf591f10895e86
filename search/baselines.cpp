#include "search/baselines.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "core/base/count_up.h"
#include "core/base/step_budget.h"
#include "core/plans/equal_blocks.h"
#include "core/tables/row_popularity.h"
#include "core/tables/table_rules.h"
#include "neuroshard/simulator.h"
#include "search/apart_devices.h"
#include "search/hot_rows/flexshard.h"
#include "search/infeasibility/infeasibility.h"

namespace neuroshard {
namespace {

/// The key of a table by itself.
double key_of(const Table& table, Algorithm algorithm) {
  const double lookups = table.dim * table.pooling_factor;
  switch (algorithm) {
    case Algorithm::kDimGreedy:
      return table.dim;
    case Algorithm::kSizeGreedy:
      return static_cast<double>(table.size_bytes());
    case Algorithm::kLookupGreedy:
      return lookups;
    case Algorithm::kSizeLookupGreedy:
    case Algorithm::kFlexshard:
      return lookups * std::log10(static_cast<double>(table.rows));
    case Algorithm::kNeuroshard:
    case Algorithm::kPublished:
    case Algorithm::kUniform:
    case Algorithm::kRandom:
    case Algorithm::kRecshard:
    case Algorithm::kDreamshard:
    case Algorithm::kAutoshard:
      break;
  }
  return 0.0;
}

// Cost models do not know the rate of HBM. This is an A100's, in bytes a millisecond. It decides no
// more than how much dearer a row of the host is.
constexpr double kHbmRate = 1.555e9;

/// Rows of a table that are looked up equally often.
struct Rows {
  std::size_t table;
  double size_bytes;
  double looked_up_bytes;  ///< In an iteration.
};

/// Milliseconds of lookups of each table, by RecShard (Sethi et al., ASPLOS 2022, arXiv
/// 2201.10095): bytes of rows over the rate of the memory that they are in. Which rows are in HBM
/// is the solution of its integer programme without the integers, with one threshold over all
/// devices: rows by lookups for their bytes, until all HBM is full.
std::vector<double> recshard_costs_ms(const Task& task) {
  std::vector<double> costs_ms(task.tables.size());
  std::vector<Rows> rows;
  double left_bytes = 0.0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
    left_bytes += static_cast<double>(hbm_room_bytes(task, d));
  }
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const double row_bytes = static_cast<double>(slice_memory(table, table.dim).weight_bytes) /
                             static_cast<double>(table.rows);
    const double looked_up =
        static_cast<double>(task.batch_size) * table.pooling_factor * row_bytes;
    costs_ms[t] = looked_up / kHbmRate;
    if (task.host.bytes == 0) continue;
    if (table.rules.keep_in_hbm) {
      left_bytes -= static_cast<double>(table.size_bytes());
      continue;
    }
    PopularRows before;
    for (const PopularRows& point : popularity_of(table)) {
      rows.push_back(
          {t, (point.rows - before.rows) * row_bytes, (point.share - before.share) * looked_up});
      before = point;
    }
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const Rows& of) { return of.looked_up_bytes / of.size_bytes; });
  for (const auto& [table, size_bytes, looked_up_bytes] : rows) {
    const double in_hbm = std::clamp(left_bytes, 0.0, size_bytes);
    left_bytes -= in_hbm;
    const double from_host = looked_up_bytes * (1.0 - in_hbm / size_bytes);
    costs_ms[table] += from_host / (task.host.link_gb_s * 1e6) - from_host / kHbmRate;
  }
  return costs_ms;
}

std::vector<double> keys_of(const Task& task, Algorithm algorithm) {
  if (algorithm == Algorithm::kRecshard) return recshard_costs_ms(task);
  std::vector<double> keys;
  for (const Table& table : task.tables) keys.push_back(key_of(table, algorithm));
  return keys;
}

/// Whether the key stands for what a device computes, which takes less time on a faster one.
bool is_compute_key(Algorithm algorithm) {
  return algorithm == Algorithm::kLookupGreedy || algorithm == Algorithm::kSizeLookupGreedy ||
         algorithm == Algorithm::kRecshard || algorithm == Algorithm::kFlexshard;
}

/// Places a table that FlexShard cuts, in equal blocks on all devices; false if it cuts it not, or
/// one has no room. Its slice of the whole table becomes the first block.
bool place_by_rows(const Task& task, std::size_t t, Plan& plan, std::vector<std::int64_t>& left) {
  if (!flexshard_cuts(task, task.tables[t])) return false;
  const TableSlice whole = plan.slices[t];
  bool has_room = true;
  for_each_block(whole, 0, task.devices, [&](const TableSlice& block, int device) {
    has_room = has_room && slice_bytes(task, block) <= left[static_cast<std::size_t>(device)];
  });
  if (!has_room) return false;
  for_each_block(whole, 0, task.devices, [&](const TableSlice& block, int device) {
    const std::size_t index = device == 0 ? t : plan.slices.size();
    plan.shards[static_cast<std::size_t>(device)].push_back(static_cast<int>(index));
    if (device > 0) plan.slices.emplace_back();
    plan.slices[index] = block;
    left[static_cast<std::size_t>(device)] -= slice_bytes(task, block);
  });
  return true;
}

// The order of the generator's numbers is the same everywhere, unlike that of std's distributions.
std::uint64_t draw_below(std::mt19937_64& random, std::uint64_t bound) { return random() % bound; }

}  // namespace

std::optional<Plan> place_by_baseline(const Task& task, Algorithm algorithm, std::uint64_t seed,
                                      const StopCondition& stop) {
  if (!task.groups.empty()) {
    return plan_without_groups(task, stop, [&](const Task& starts) {
      return place_by_baseline(starts, algorithm, seed, stop);
    });
  }
  const std::size_t tables = task.tables.size();
  const auto devices = static_cast<std::size_t>(task.devices);
  const std::vector<double> keys = keys_of(task, algorithm);
  std::vector<std::size_t> order = count_up<std::size_t>(tables);
  if (algorithm != Algorithm::kRandom) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (keys[a] != keys[b]) return keys[a] > keys[b];
      const std::int64_t size_a = task.tables[a].size_bytes();
      const std::int64_t size_b = task.tables[b].size_bytes();
      return size_a != size_b ? size_a > size_b : a > b;
    });
  }

  Plan plan;
  plan.slices = whole_tables(task);
  plan.shards.resize(devices);
  std::vector<double> key_sums(devices, 0.0);
  std::vector<double> speeds(devices, 1.0);
  for (std::size_t d = 0; is_compute_key(algorithm) && d < task.device_list.size(); ++d) {
    speeds[d] = task.device_list[d].speed;
  }
  std::vector<std::int64_t> left = even_rooms_bytes(task);
  std::vector<std::size_t> with_room;
  std::mt19937_64 random(seed);
  StepBudget budget(StepBudget::kAnySteps, stop);
  for (const std::size_t t : order) {
    if (!budget.take(devices)) return std::nullopt;
    if (algorithm == Algorithm::kFlexshard && place_by_rows(task, t, plan, left)) continue;
    const std::int64_t size = task.tables[t].size_bytes();
    const DeviceSet allowed = allowed_set(task.tables[t].rules, task);
    with_room.clear();
    for (std::size_t d = 0; d < devices; ++d) {
      if (left[d] >= size && allowed.contains(d)) with_room.push_back(d);
    }
    if (with_room.empty()) return std::nullopt;
    const std::size_t device =
        algorithm == Algorithm::kRandom
            ? with_room[draw_below(random, with_room.size())]
            : *std::min_element(with_room.begin(), with_room.end(),
                                [&](std::size_t a, std::size_t b) {
                                  return key_sums[a] / speeds[a] < key_sums[b] / speeds[b];
                                });
    plan.shards[device].push_back(static_cast<int>(t));
    key_sums[device] += keys[t];
    left[device] -= size;
  }
  return plan;
}

void price_if_it_fits(const Backend& backend, const Task& task, Algorithm algorithm,
                      PlanResult& result) {
  PlanCost cost = simulate(backend, task, *result.plan);
  if (cost.fits_memory) {
    result.cost = std::move(cost);
    return;
  }
  result.plan.reset();
  result.infeasible = baseline_failure(task, algorithm);
}

}  // namespace neuroshard
