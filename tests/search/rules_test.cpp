// Tasks whose devices differ and whose tables have rules: what every algorithm makes of them, with
// a look at all plans of tiny tasks as the judge.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "neuroshard/what_if.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/equal_tables.h"
#include "search/random_layouts.h"
#include "search/random_rules.h"
#include "tests/message_of.h"

namespace neuroshard {
namespace {

using testing::add_random_groups;
using testing::add_random_kinds;
using testing::add_random_rules;
using testing::CatalogedTask;
using testing::cpu_backend_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::random_models;
using testing::random_task;
using testing::repetitions;
using testing::tiny_task_with_rules;

/// A slice of one table: columns, device.
using Placed = std::pair<int, int>;
/// Slices of one table, in order.
using Way = std::vector<Placed>;

// All ways to cut a table and to place its slices that keep its rules, by nothing but these.
std::vector<Way> ways_of(const Table& table, int devices) {
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
  std::set<Way> ways;
  for (const std::vector<int>& cut : cuts) {
    if (rules.no_split && cut.size() > 1) continue;
    const bool whole_only =
        !rules.kinds.empty() && std::ranges::count(rules.kinds, ShardingKind::kColumn) == 0;
    if (whole_only && cut.size() > 1) continue;
    if (rules.max_slices > 0 && std::cmp_greater(cut.size(), rules.max_slices)) continue;
    if (cut.front() < rules.min_width) continue;
    std::vector<Way> placed = {{}};
    for (const int dim : cut) {
      std::vector<Way> next;
      for (const Way& way : placed) {
        for (int device = 0; device < devices; ++device) {
          if (!rules.devices.empty() && !names(rules.devices, device)) continue;
          if (names(rules.not_devices, device)) continue;
          next.push_back(way);
          next.back().emplace_back(dim, device);
        }
      }
      placed = std::move(next);
    }
    for (Way& way : placed) {
      std::sort(way.begin(), way.end());
      ways.insert(std::move(way));
    }
  }
  return {ways.begin(), ways.end()};
}

bool keeps_groups(const Task& task, const std::vector<const Way*>& ways) {
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
bool any_plan(const Task& task, const std::function<bool(const std::vector<const Way*>&)>& visit) {
  std::vector<std::vector<Way>> ways;
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
  std::vector<const Way*> chosen;
  const std::function<bool()> go_on = [&] {
    const std::size_t t = chosen.size();
    if (t == ways.size()) return keeps_groups(task, chosen) && visit(chosen);
    for (const Way& way : ways[t]) {
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

void expect_keeps_rules(const Task& task, const PlanResult& result) {
  ASSERT_NE(result.plan.has_value(), result.infeasible.has_value());
  if (!result.plan) return;
  for (const PlanProblem& problem : check_plan(*result.plan, task)) {
    ADD_FAILURE() << problem.message();
  }
  EXPECT_TRUE(result.cost.fits_memory);
}

TEST(Rules, EveryAlgorithmKeepsThemAndNoPlanThatExistsIsDenied) {
  const CostModels models = random_models(1);
  std::vector<Planner> planners;
  for (const Algorithm algorithm : all_algorithms()) {
    planners.emplace_back(
        models, PlannerOptions{
                    .algorithm = algorithm,
                    .effort = Effort::kFast,
                    .search = {.beam_width = 2, .candidates = 3, .max_splits = 2, .grid_steps = 3},
                    .threads = 1});
  }
  const Planner equal_widths(models, {.effort = Effort::kFast, .equal_widths = true, .threads = 1});
  int infeasible = 0;
  const std::uint64_t tasks = repetitions(2000);
  for (std::uint64_t seed = 0; seed < tasks; ++seed) {
    SCOPED_TRACE(seed);
    const Task task = tiny_task_with_rules(seed);
    const bool feasible = is_feasible(task);
    infeasible += feasible ? 0 : 1;
    for (std::size_t i = 0; i < planners.size(); ++i) {
      const Algorithm algorithm = all_algorithms()[i];
      SCOPED_TRACE(name_of(algorithm));
      const PlanResult result = planners[i].plan(task);
      expect_keeps_rules(task, result);
      if (algorithm == Algorithm::kNeuroshard || algorithm == Algorithm::kPublished) {
        ASSERT_EQ(result.plan.has_value(), feasible)
            << (result.infeasible ? result.infeasible->message : "");
      }
    }
    expect_keeps_rules(task, equal_widths.plan(task));
  }
  EXPECT_GT(infeasible, static_cast<int>(tasks / 10));
  EXPECT_LT(infeasible, static_cast<int>(tasks * 9 / 10));
}

TEST(Rules, LittleIsCheaperThanWhatTheSearchFinds) {
  const CostModels models = builtin_weights();
  const CpuBackend cpu = cpu_backend_of(models);
  const Planner planner(models, {.cuts = Cuts::kColumns, .threads = 1});
  int tasks = 0;
  int optimal = 0;
  double worst = 0.0;
  for (std::uint64_t seed = 10000; seed < 10000 + repetitions(150); ++seed) {
    SCOPED_TRACE(seed);
    Task listed = tiny_task_with_rules(seed);
    listed.groups.clear();  // Bundles have no pieces of their own tables.
    const CatalogedTask cataloged(cpu, listed);
    const Task& task = cataloged.task;
    double lowest_ms = std::numeric_limits<double>::infinity();
    (void)any_plan(task, [&](const std::vector<const Way*>& ways) {
      Layout layout;
      for (std::uint32_t t = 0; t < ways.size(); ++t) {
        for (const auto& [dim, device] : *ways[t]) {
          layout.push_back(
              {cataloged.catalog.piece(t, dim), t, static_cast<std::uint32_t>(device)});
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

TEST(Rules, LargerTasksKeepThemToo) {
  const Planner planner(random_models(2), {.effort = Effort::kFast, .threads = 1});
  int planned = 0;
  for (std::uint64_t seed = 0; seed < repetitions(150); ++seed) {
    SCOPED_TRACE(seed);
    Task task = random_task(seed);
    Random random(seed, 3);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 4, random);
    const PlanResult result = planner.plan(task);
    expect_keeps_rules(task, result);
    planned += result.plan ? 1 : 0;
  }
  EXPECT_GT(planned, static_cast<int>(repetitions(150) / 4));
}

TEST(Rules, ListOfEqualDevicesIsTheirNumber) {
  const CostModels models = random_models(3);
  for (const Algorithm algorithm : all_algorithms()) {
    SCOPED_TRACE(name_of(algorithm));
    const Planner planner(models, {.algorithm = algorithm, .threads = 1});
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Task plain = random_task(seed);
      plain.reserved.share = 0.0;  // Of more memory it is more.
      Task listed = plain;
      listed.memory_bytes = 0;
      listed.device_list.assign(static_cast<std::size_t>(plain.devices),
                                {.memory_bytes = plain.memory_bytes + 100, .base_bytes = 100});
      const PlanResult expected = planner.plan(plain);
      const PlanResult result = planner.plan(listed);
      EXPECT_EQ(result.plan, expected.plan);
      EXPECT_EQ(result.cost.cost_ms, expected.cost.cost_ms);
      if (algorithm == Algorithm::kNeuroshard) {
        EXPECT_EQ(planner.fingerprint(listed), planner.fingerprint(plain));
      }
    }
  }
}

TEST(Rules, BackendsThreadsAndReuseChangeNothing) {
  const CostModels models = random_models(4);
  PlannerOptions options{.effort = Effort::kFast,
                         .search = {.beam_width = 2, .max_splits = 3, .grid_steps = 4},
                         .backend = "scalar",
                         .threads = 1,
                         .reuse_work = false};
  const Planner plain(models, options);
  options = {.effort = Effort::kFast, .search = options.search, .threads = 3};
  const Planner best(models, options);
  options.algorithm = Algorithm::kPublished;
  const Planner best_published(models, options);
  options.backend = "scalar";
  options.reuse_work = false;
  const Planner plain_published(models, options);
  for (std::uint64_t seed = 0; seed < repetitions(25); ++seed) {
    SCOPED_TRACE(seed);
    Task task = random_task(seed);
    Random random(seed, 5);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 3, random);
    EXPECT_EQ(plain.plan(task).plan, best.plan(task).plan);
    EXPECT_EQ(plain_published.plan(task).plan, best_published.plan(task).plan);
  }
}

TEST(Rules, OrderAndNamesOfTablesChangeNothing) {
  const Planner planner(random_models(5), {.effort = Effort::kFast, .threads = 1});
  for (std::uint64_t seed = 0; seed < repetitions(25); ++seed) {
    SCOPED_TRACE(seed);
    Task task = random_task(seed);
    Random random(seed, 7);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 3, random);
    const PlanResult result = planner.plan(task);
    std::vector<int> order(task.tables.size());
    std::iota(order.begin(), order.end(), 0);
    std::reverse(order.begin(), order.end());
    std::rotate(order.begin(), order.begin() + order.size() / 3, order.end());
    const Task listed = task;
    std::vector<int> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      task.tables[i] = listed.tables[static_cast<std::size_t>(order[i])];
      place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    }
    for (TableGroup& group : task.groups) {
      for (int& table : group.tables) table = place[static_cast<std::size_t>(table)];
    }
    std::ranges::reverse(task.groups);
    for (std::size_t i = 0; i < task.tables.size(); ++i) task.tables[i].name = std::to_string(i);
    EXPECT_EQ(planner.plan(task).cost.cost_ms, result.cost.cost_ms);
  }
}

TEST(Rules, BaseLoadCounts) {
  const Planner planner(builtin_weights(), {.threads = 1});
  Task task = random_task(11);
  task.devices = 2;
  task.device_list = {{.memory_bytes = std::int64_t{1} << 40, .base_ms = 3.5, .base_bytes = 7},
                      {.memory_bytes = std::int64_t{1} << 40}};
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  const std::vector<DeviceCost>& loaded = result.cost.devices;
  EXPECT_EQ(loaded[0].base_ms, 3.5);
  EXPECT_EQ(loaded[0].base_bytes, 7);
  EXPECT_EQ(loaded[1].base_ms, 0.0);
  const PlanCost again = planner.simulate(task, *result.plan);
  EXPECT_EQ(again.cost_ms, result.cost.cost_ms);
  task.device_list.clear();
  task.memory_bytes = std::int64_t{1} << 40;
  const PlanCost free = planner.simulate(task, *result.plan);
  EXPECT_NEAR(loaded[0].compute_ms, free.devices[0].compute_ms + 3.5, 1e-4);
  EXPECT_EQ(loaded[1].compute_ms, free.devices[1].compute_ms);
  // The plan that knows of the load beats the one that does not.
  const PlanResult ignorant = planner.plan(task);
  task.device_list = {{.memory_bytes = std::int64_t{1} << 40, .base_ms = 3.5},
                      {.memory_bytes = std::int64_t{1} << 40}};
  EXPECT_LE(result.cost.cost_ms, planner.simulate(task, *ignorant.plan).cost_ms);
}

TEST(Rules, WhatIfsKeepThem) {
  const Planner planner(random_models(6), {.effort = Effort::kFast, .threads = 1});
  Task task = random_task(3);
  task.devices = 4;
  task.tables.front().rules = {.no_split = true, .devices = {1}};
  task.tables.back().rules.not_devices = {0, 2};
  const std::int64_t memory = 4 * total_bytes(task);
  task.device_list.assign(4, {.memory_bytes = memory, .base_ms = 0.0});
  task.device_list[2].base_ms = 1.0;
  const std::vector<TaskVariant> variants = {{4, memory}, {4, memory / 3}, {3, memory}};
  const std::vector<PlanOutcome> outcomes = plan_variants(planner, task, variants);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Task with = task_with(task, variants[i]);
    EXPECT_EQ(with.device_list.empty(), variants[i].devices != 4);
    ASSERT_TRUE(outcomes[i].has_value());
    expect_keeps_rules(with, *outcomes[i]);
    EXPECT_TRUE(outcomes[i]->plan);
  }
}

TEST(Rules, ReplanningKeepsThem) {
  const Planner planner(random_models(7), {.effort = Effort::kFast, .threads = 1});
  int planned = 0;
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    const Task before = random_task(seed);
    const PlanResult running = planner.plan(before);
    if (!running.plan) continue;
    Task task = before;
    Random random(seed, 9);
    add_random_rules(task, random);
    add_random_kinds(task, random);
    add_random_groups(task, 3, random);
    const ReplanResult result =
        planner.replan(task, {before, *running.plan}, {.most_moved_bytes = total_bytes(task)});
    expect_keeps_rules(task, result.result);
    planned += result.result.plan ? 1 : 0;
  }
  EXPECT_GT(planned, static_cast<int>(repetitions(60) / 4));
}

TEST(Rules, RowBlocksKeepThem) {
  const Planner planner(builtin_weights(),
                        {.effort = Effort::kFast, .cuts = Cuts::kAny, .threads = 1});
  Task task;
  task.devices = 4;
  task.memory_bytes = 20'000'000;
  task.tables = {
      {.name = "large",
       .rows = 2'000'000,
       .dim = 8,
       .pooling_factor = 1.0,
       .access_histogram = {1.0}},
      {.name = "small", .rows = 1000, .dim = 16, .pooling_factor = 1.0, .access_histogram = {1.0}}};
  task.tables[1].rules = {.no_split = true, .devices = {2}};
  TableRules& rules = task.tables[0].rules;
  for (const TableRules& allowing : {TableRules{}, TableRules{.min_width = 8, .max_slices = 4}}) {
    rules = allowing;
    const PlanResult result = planner.plan(task);
    expect_keeps_rules(task, result);
    ASSERT_TRUE(result.plan);
    EXPECT_EQ(result.plan->slices.size(), 5U);
    EXPECT_TRUE(has_row_blocks(task, *result.plan));
  }
  for (const TableRules& forbidding : {TableRules{.no_split = true}, TableRules{.max_slices = 3},
                                       TableRules{.not_devices = {0}}}) {
    rules = forbidding;
    EXPECT_FALSE(planner.plan(task).plan);
  }
  rules = {};
  task.device_list.assign(4, {.memory_bytes = task.memory_bytes});
  EXPECT_TRUE(planner.plan(task).plan);
  task.device_list[3] = {.memory_bytes = 2 * task.memory_bytes, .base_ms = 1.0, .speed = 2.0};
  const PlanResult unequal = planner.plan(task);
  expect_keeps_rules(task, unequal);
  ASSERT_TRUE(unequal.plan);
  EXPECT_TRUE(has_row_blocks(task, *unequal.plan));
  rules.not_devices = {0};
  EXPECT_FALSE(planner.plan(task).plan);
}

TEST(Rules, ReasonsNameThem) {
  const Planner planner(random_models(8), {.effort = Effort::kFast, .threads = 1});
  Task task;
  task.devices = 3;
  task.memory_bytes = 1'000'000;
  task.tables = testing::equal_tables(3, 10'000, 16);
  const auto reason = [&] { return planner.plan(task).infeasible.value(); };
  task.tables[1].rules.devices = {2};
  task.tables[2].rules.devices = {2};
  Infeasibility why = reason();
  EXPECT_EQ(why.kind, Infeasibility::Kind::kRules);
  EXPECT_THAT(why.message, HasSubstr("2 tables, the largest of which is table 1 ('t1'), may by "
                                     "their rules only go to the devices 2"));
  task.tables[2].rules = {.min_width = 16, .devices = {0, 1}};
  task.device_list = {
      {.memory_bytes = 100'000}, {.memory_bytes = 200'000}, {.memory_bytes = 4'000'000}};
  why = reason();
  EXPECT_EQ(why.kind, Infeasibility::Kind::kPieceTooLarge);
  EXPECT_EQ(why.table, 2);
  EXPECT_THAT(why.message, HasSubstr("(rules: min_width 16; devices 0, 1)"));
  EXPECT_THAT(why.message, HasSubstr("loosen its rules"));
}

TEST(Rules, PlansOfTablesWithMaxSlicesUseAllOfThem) {
  // Three slices, of which one is half the table: neither two equal ones nor four would do.
  const Planner planner(random_models(9), {.effort = Effort::kFast, .threads = 1});
  Task task;
  task.devices = 3;
  task.tables.push_back(
      {.name = "", .rows = 1000, .dim = 16, .pooling_factor = 1.0, .access_histogram = {1.0}});
  task.tables[0].rules.max_slices = 3;
  task.device_list = {{.memory_bytes = 32'000}, {.memory_bytes = 16'000}, {.memory_bytes = 16'000}};
  const PlanResult result = planner.plan(task);
  ASSERT_TRUE(result.plan);
  EXPECT_EQ(result.plan->slices.size(), 3U);
  task.tables[0].rules.max_slices = 2;
  const PlanResult none = planner.plan(task);
  ASSERT_TRUE(none.infeasible);
  EXPECT_THAT(none.infeasible->message, HasSubstr("as the rules of tables allow"));
}

// A rule on nodes is one on their devices.
TEST(Rules, OnNodesAreThoseOnTheirDevices) {
  const auto algorithms = all_algorithms();
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 41);
    Task task = random_task(seed);
    task.devices_per_node = 2 + static_cast<int>(random.below(3));
    task.devices = 4 + static_cast<int>(random.below(9));
    const int nodes = (task.devices + task.devices_per_node - 1) / task.devices_per_node;
    Task expanded = task;
    bool any = false;
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      if (random.below(2) == 0) continue;
      const int node = static_cast<int>(random.below(static_cast<std::size_t>(nodes)));
      const bool only = nodes == 1 || random.below(2) == 0;
      (only ? task.tables[t].rules.nodes : task.tables[t].rules.not_nodes) = {node};
      std::vector<int>& devices =
          only ? expanded.tables[t].rules.devices : expanded.tables[t].rules.not_devices;
      const int first = node * task.devices_per_node;
      for (int d = first; d < std::min(first + task.devices_per_node, task.devices); ++d) {
        devices.push_back(d);
      }
      any = true;
    }
    if (!any) continue;
    const PlannerOptions options{
        .algorithm = algorithms[seed % algorithms.size()], .effort = Effort::kFast, .threads = 1};
    const Planner planner(builtin_weights(), options);
    const PlanResult result = planner.plan(task);
    EXPECT_EQ(result.plan, planner.plan(expanded).plan);
    if (!result.plan) continue;
    EXPECT_THAT(check_plan(*result.plan, task), IsEmpty());
    if (options.algorithm != Algorithm::kNeuroshard) continue;
    Task changed = task;
    changed.tables[0].pooling_factor *= 1.5;
    Task changed_expanded = expanded;
    changed_expanded.tables[0].pooling_factor *= 1.5;
    if (has_row_blocks(task, *result.plan)) continue;
    EXPECT_EQ(planner.replan(changed, {task, *result.plan}, {}).result.plan,
              planner.replan(changed_expanded, {expanded, *result.plan}, {}).result.plan);
  }
}

TEST(Rules, OnNodesThatAreNoneAreErrors) {
  Task task = random_task(1);
  task.devices = 6;
  task.devices_per_node = 4;
  const auto error_of = [&](const TableRules& rules) {
    Task with = task;
    with.tables[0].rules = rules;
    return testing::message_of([&] { validate(with, "a.json"); });
  };
  task.tables[0].rules = {.nodes = {1}};
  EXPECT_NO_THROW(validate(task));
  EXPECT_THAT(error_of({.nodes = {2}}),
              HasSubstr("the rule nodes names node 2, but there are 2 nodes; count from 0"));
  EXPECT_THAT(error_of({.not_nodes = {-1}}), HasSubstr("the rule not_nodes names node -1"));
  EXPECT_THAT(error_of({.nodes = {1}, .not_nodes = {0, 1}}),
              HasSubstr("the rules nodes and not_nodes contradict each other: both name node 1"));
  EXPECT_THAT(error_of({.devices = {1, 2}, .nodes = {1}}),
              HasSubstr("the rules devices, nodes together rule out all 6 devices"));
  EXPECT_THAT(error_of({.not_nodes = {0, 1}}),
              HasSubstr("the rule not_nodes names all 6 devices, so that none is left"));
}

}  // namespace
}  // namespace neuroshard
