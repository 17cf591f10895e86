#include "search/starts/cut_ladder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/tables/table_rules.h"
#include "search/placement_rules.h"

namespace neuroshard {
namespace {

constexpr int kWidest = 256;
constexpr double kHighestShare = 4.0;
constexpr double kLowestShare = 0.01;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Above the mean a device may hold what it likes for its share of the cost, but columns are what
// the all-to-alls wait for.
constexpr std::array<double, 8> kDimLimitScales = {1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0};
// On more devices than this a placement takes long to price, and every third limit finds as much.
constexpr int kDevicesWithAllLimits = 256;
constexpr std::size_t kStepOnManyDevices = 3;
// Where tables may go to some devices only, placements under different limits have little in
// common.
constexpr std::size_t kStepUnderRules = 2;

struct CutRule {
  double most_cost_ms = kNoLimit;
  double most_columns = kNoLimit;
};

// `rooms_bytes`: of the largest device for each table.
LadderRung cut(const PieceCatalog& catalog, std::span<const std::int64_t> rooms_bytes,
               const CutRule& rule) {
  LadderRung rung;
  rung.piece_of_table.reserve(catalog.tables());
  for (std::size_t table = 0; table < catalog.tables(); ++table) {
    std::uint32_t piece = catalog.whole(table);
    while (catalog.can_split_all(piece) &&
           (static_cast<double>(catalog.cost_ms(piece)) > rule.most_cost_ms ||
            catalog.dim(piece) > rule.most_columns ||
            catalog.size_bytes(piece) > rooms_bytes[table])) {
      piece = catalog.half(piece);
    }
    rung.piece_of_table.push_back(piece);
    rung.slices += catalog.slices(table, piece);
  }
  return rung;
}

double total_dims(const Task& task) {
  double dims = 0.0;
  for (const Table& table : task.tables) dims += table.dim;
  return dims;
}

/// Of two slices, whatever their devices: the one that is placed first.
bool comes_first(const PieceCatalog& catalog, LadderRung::Order order, const PlacedSlice& a,
                 const PlacedSlice& b) {
  if (order == LadderRung::Order::kColumns && catalog.dim(a.piece) != catalog.dim(b.piece)) {
    return catalog.dim(a.piece) > catalog.dim(b.piece);
  }
  const float cost_a = catalog.cost_ms(a.piece);
  const float cost_b = catalog.cost_ms(b.piece);
  if (cost_a != cost_b) return cost_a > cost_b;
  return a.piece != b.piece ? a.piece < b.piece : a.table < b.table;
}

}  // namespace

std::vector<LadderRung> cut_ladder(const PieceCatalog& catalog, const Task& task, int fineness,
                                   std::size_t most_slices, const StopCondition& stop) {
  double cost_ms = 0.0;
  for (std::size_t table = 0; table < catalog.tables(); ++table) {
    cost_ms += std::max(0.0F, catalog.cost_ms(catalog.whole(table)));
  }
  const double mean_cost_ms = cost_ms / task.devices;
  const double mean_dims = total_dims(task) / task.devices;

  std::vector<CutRule> rules;
  for (int width = kWidest; width >= kDimMultiple; width /= 2) {
    rules.push_back({.most_columns = static_cast<double>(width)});
  }
  const double step = std::exp2(-1.0 / fineness);
  for (double share = kHighestShare; share >= kLowestShare; share *= step) {
    rules.push_back({.most_cost_ms = share * mean_cost_ms});
    rules.push_back({.most_columns = share * mean_dims});
    rules.push_back({.most_cost_ms = share * mean_cost_ms, .most_columns = share * mean_dims});
  }

  const std::vector<std::int64_t> rooms_bytes = largest_rooms_bytes(task);
  std::set<std::vector<std::uint32_t>> seen;
  std::vector<LadderRung> rungs;
  for (const CutRule& rule : rules) {
    if (stop.reached()) return {};
    LadderRung rung = cut(catalog, rooms_bytes, rule);
    if (!seen.insert(rung.piece_of_table).second) continue;
    for (const auto order : {LadderRung::Order::kCost, LadderRung::Order::kColumns}) {
      rung.order = order;
      rungs.push_back(rung);
    }
  }
  std::stable_sort(rungs.begin(), rungs.end(),
                   [](const LadderRung& a, const LadderRung& b) { return a.slices < b.slices; });
  std::size_t slices = 0;
  const auto too_many = std::find_if(rungs.begin() + 1, rungs.end(), [&](const LadderRung& rung) {
    return (slices += rung.slices) > most_slices;
  });
  rungs.erase(too_many, rungs.end());
  return rungs;
}

std::vector<bool> tables_to_place_first(const Task& task) {
  if (!any_limits_devices(task)) return {};
  std::vector<bool> first;
  for (const Table& table : task.tables) {
    if (!table.rules.limit_devices()) {
      first.push_back(false);
      continue;
    }
    first.push_back(2 * allowed_set(table.rules, task).count() <=
                    static_cast<std::size_t>(task.devices));
  }
  return first;
}

Layout ordered_slices(const PieceCatalog& catalog, const LadderRung& rung,
                      const std::vector<bool>& first) {
  std::vector<std::uint32_t> tables(rung.piece_of_table.size());
  std::iota(tables.begin(), tables.end(), 0U);
  std::sort(tables.begin(), tables.end(), [&](std::uint32_t a, std::uint32_t b) {
    return comes_first(catalog, rung.order, {rung.piece_of_table[a], a, 0},
                       {rung.piece_of_table[b], b, 0});
  });
  if (!first.empty()) {
    std::stable_partition(tables.begin(), tables.end(),
                          [&](std::uint32_t table) { return static_cast<bool>(first[table]); });
  }
  Layout layout;
  layout.reserve(rung.slices);
  for (const std::uint32_t table : tables) {
    const std::uint32_t piece = rung.piece_of_table[table];
    layout.insert(layout.end(), catalog.slices(table, piece), {piece, table, 0});
  }
  return layout;
}

void order_slices(const PieceCatalog& catalog, LadderRung::Order order,
                  const std::vector<bool>& first, Layout& slices) {
  std::sort(slices.begin(), slices.end(), [&](const PlacedSlice& a, const PlacedSlice& b) {
    return comes_first(catalog, order, a, b);
  });
  if (first.empty()) return;
  std::stable_partition(slices.begin(), slices.end(), [&](const PlacedSlice& slice) {
    return static_cast<bool>(first[slice.table]);
  });
}

std::vector<std::int64_t> ladder_dim_limits(const Task& task) {
  const double dims = total_dims(task);
  const auto rounded_up =
      static_cast<std::int64_t>(std::ceil(dims / task.devices / kDimMultiple) * kDimMultiple);
  const auto all = static_cast<std::int64_t>(dims);
  std::vector<std::int64_t> limits;
  const std::size_t step = task.devices > kDevicesWithAllLimits ? kStepOnManyDevices
                           : any_limits_devices(task)           ? kStepUnderRules
                                                                : 1;
  for (std::size_t i = 0; i < kDimLimitScales.size(); i += step) {
    const auto limit =
        static_cast<std::int64_t>(kDimLimitScales[i] * static_cast<double>(rounded_up)) /
        kDimMultiple * kDimMultiple;
    if (limit >= all) break;  // No limit any more, and so are those to come.
    if (limits.empty() || limit > limits.back()) limits.push_back(limit);
  }
  limits.push_back(all);
  return limits;
}

}  // namespace neuroshard
