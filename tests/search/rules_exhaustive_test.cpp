// Tiny tasks whose devices differ and whose tables have rules: every algorithm beside a look at all
// plans, by code that knows nothing but the rules.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "core/tables/table_groups.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/kept_rules.h"
#include "search/random_layouts.h"
#include "search/random_rules.h"
#include "search/starts/room_search.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::cpu_backend_of;
using testing::drawn_tasks;
using testing::expect_every_algorithm_keeps_rules;
using testing::expect_keeps_rules;
using testing::random_models;
using testing::sort_layout;
using testing::tiny_task_with_rules;

/// A slice of one table: columns, device.
using Placed = std::pair<int, int>;
/// Slices of one table, in order.
using Placing = std::vector<Placed>;

// All ways to cut a table and to place its slices that keep its rules, by nothing but these.
std::vector<Placing> ways_of(const Table& table, int devices) {
  std::set<std::vector<int>> cuts;
  std::vector<std::vector<int>> to_cut = {{table.dim}};
  while (!to_cut.empty()) {
    std::vector<int> cut = to_cut.back();
    to_cut.pop_back();
    std::sort(cut.begin(), cut.end());
    if (!cuts.insert(cut).second) continue;
    for (std::size_t i = 0; i < cut.size(); ++i) {
      if (cut[i] % 8 != 0) continue;
      std::vector<int> finer = cut;
      finer[i] /= 2;
      finer.push_back(finer[i]);
      to_cut.push_back(std::move(finer));
    }
  }
  const TableRules& rules = table.rules;
  const auto names = [](const std::vector<int>& set, int device) {
    return std::count(set.begin(), set.end(), device) > 0;
  };
  std::set<Placing> ways;
  for (const std::vector<int>& cut : cuts) {
    if (rules.no_split && cut.size() > 1) continue;
    const bool whole_only =
        !rules.kinds.empty() && std::ranges::count(rules.kinds, ShardingKind::kColumn) == 0;
    if (whole_only && cut.size() > 1) continue;
    if (rules.max_slices > 0 && std::cmp_greater(cut.size(), rules.max_slices)) continue;
    if (cut.front() < std::min(rules.min_width, table.dim)) continue;
    std::vector<Placing> placed = {{}};
    for (const int dim : cut) {
      std::vector<Placing> next;
      for (const Placing& way : placed) {
        for (int device = 0; device < devices; ++device) {
          if (!rules.devices.empty() && !names(rules.devices, device)) continue;
          if (names(rules.not_devices, device)) continue;
          next.push_back(way);
          next.back().emplace_back(dim, device);
        }
      }
      placed = std::move(next);
    }
    for (Placing& way : placed) {
      std::sort(way.begin(), way.end());
      ways.insert(std::move(way));
    }
  }
  return {ways.begin(), ways.end()};
}

bool keeps_groups(const Task& task, const std::vector<const Placing*>& ways) {
  for (const TableGroup& group : task.groups) {
    std::map<int, std::set<int>> tables_on;
    for (const int table : group.tables) {
      for (const auto& [dim, device] : *ways[static_cast<std::size_t>(table)]) {
        tables_on[device].insert(table);
      }
    }
    if (group.keep == Keep::kTogether && tables_on.size() > 1) return false;
    for (const auto& [device, tables] : tables_on) {
      if (group.keep == Keep::kApart && tables.size() > 1) return false;
    }
  }
  return true;
}

// Calls `visit` for every plan that keeps rules and memory, until it returns true.
bool any_plan(const Task& task,
              const std::function<bool(const std::vector<const Placing*>&)>& visit) {
  std::vector<std::vector<Placing>> ways;
  for (const Table& table : task.tables) ways.push_back(ways_of(table, task.devices));
  std::vector<std::int64_t> room;
  for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
    const std::int64_t memory =
        task.device_list.empty() ? task.memory_bytes : task.device_list[d].memory_bytes;
    const std::int64_t base = task.device_list.empty() ? 0 : task.device_list[d].base_bytes;
    const double share = task.reserved.share;
    room.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(memory) * (1 - share))) - base -
        task.reserved.bytes);
  }
  std::vector<const Placing*> chosen;
  const std::function<bool()> go_on = [&] {
    const std::size_t t = chosen.size();
    if (t == ways.size()) return keeps_groups(task, chosen) && visit(chosen);
    for (const Placing& way : ways[t]) {
      const auto take = [&](std::int64_t sign) {
        for (const auto& [dim, device] : way) {
          room[static_cast<std::size_t>(device)] -= sign * slice_bytes(task.tables[t], dim);
        }
      };
      take(1);
      chosen.push_back(&way);
      const bool fits = std::all_of(room.begin(), room.end(), [](auto left) { return left >= 0; });
      const bool found = fits && go_on();
      chosen.pop_back();
      take(-1);
      if (found) return true;
    }
    return false;
  };
  return go_on();
}

bool is_feasible(const Task& task) {
  return any_plan(task, [](const auto&) { return true; });
}

TEST(RulesExhaustively, EveryAlgorithmKeepsThemAndNoPlanThatExistsIsDenied) {
  const CostModels models = random_models(1);
  const CpuBackend cpu = cpu_backend_of(models);
  const Planner equal_widths(models, {.effort = Effort::kFast, .equal_widths = true, .threads = 1});
  expect_every_algorithm_keeps_rules(
      models, tiny_task_with_rules, is_feasible, [&](const Task& task, bool feasible) {
        expect_keeps_rules(task, equal_widths.plan(task));
        const RoomFound room = find_room(cpu, with_rules_of_groups(task),
                                         {.rows = false, .replicas = false, .halves = true}, {});
        EXPECT_EQ(room.plan.has_value(), feasible);
        EXPECT_EQ(room.impossible, !feasible);
      });
}

TEST(RulesExhaustively, LittleIsCheaperThanWhatTheSearchFinds) {
  const CostModels models = builtin_weights();
  const CpuBackend cpu = cpu_backend_of(models);
  const Planner planner(models, {.cuts = Cuts::kColumns, .threads = 1});
  int tasks = 0;
  int optimal = 0;
  double worst = 0.0;
  for (std::uint64_t seed = 10000; seed < 10000 + drawn_tasks(150); ++seed) {
    SCOPED_TRACE(seed);
    Task listed = tiny_task_with_rules(seed);
    listed.groups.clear();  // Bundles have no pieces of their own tables.
    const CatalogedTask cataloged(cpu, listed);
    const Task& task = cataloged.task;
    double lowest_ms = std::numeric_limits<double>::infinity();
    (void)any_plan(task, [&](const std::vector<const Placing*>& ways) {
      testing::Layout layout;
      for (std::uint32_t t = 0; t < ways.size(); ++t) {
        for (const auto& [dim, device] : *ways[t]) {
          layout.push_back({testing::piece_of(cataloged.catalog, t, dim), t,
                            static_cast<std::uint32_t>(device)});
        }
      }
      sort_layout(layout);
      lowest_ms = std::min(lowest_ms, cost_of(cpu, cataloged.catalog, task, layout).cost_ms);
      return false;
    });
    const PlanResult result = planner.plan(task);
    ASSERT_EQ(result.plan.has_value(), lowest_ms < std::numeric_limits<double>::infinity());
    if (!result.plan) continue;
    // Sums in another order differ in the last bits. Some tables have histograms that cannot be,
    // and costs of these may be predicted to be negative.
    const double excess = (result.cost.cost_ms - lowest_ms) / std::abs(lowest_ms);
    EXPECT_GE(excess, -1e-5);
    ++tasks;
    optimal += excess <= 1e-5 ? 1 : 0;
    worst = std::max(worst, excess);
  }
  EXPECT_GE(optimal, tasks * 9 / 10) << "of " << tasks;
  EXPECT_LE(worst, 0.02);
}

}  // namespace
}  // namespace neuroshard
