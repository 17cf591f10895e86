// Work before, within and after a search on tasks that are hard to do anything with: it ends after
// a bounded number of steps, and soon after a stop.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/step_budget.h"
#include "core/tables/table_groups.h"
#include "counting_backend.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/apart_devices.h"
#include "search/baselines.h"
#include "search/canonical_task.h"
#include "search/engine/ladder_start.h"
#include "search/engine/portfolio.h"
#include "search/infeasibility/infeasibility.h"
#include "search/infeasibility/rule_proofs.h"
#include "search/starts/room_search.h"
#include "search/starts/way_ladder.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;

std::vector<int> some_of(int all, std::size_t count, Random& random) {
  std::vector<int> some;
  while (some.size() < std::min(count, static_cast<std::size_t>(all))) {
    const int one = static_cast<int>(random.below(static_cast<std::size_t>(all)));
    if (std::ranges::find(some, one) == some.end()) some.push_back(one);
  }
  return some;
}

void add_rules(Task& task, Random& random) {
  const std::size_t half = static_cast<std::size_t>(task.devices) / 2;
  const std::size_t names = random.below(2) == 0 ? std::min<std::size_t>(2, half) : half;
  const bool forbids = random.below(2) == 0;
  for (Table& table : task.tables) {
    (forbids ? table.rules.not_devices : table.rules.devices) =
        some_of(task.devices, names, random);
  }
}

/// Pairs, chains of overlapping groups, or groups of about as many tables as there are devices.
void add_groups(Task& task, Random& random) {
  const auto tables = static_cast<int>(task.tables.size());
  const std::size_t sizes[] = {2, 8, static_cast<std::size_t>(task.devices),
                               static_cast<std::size_t>(task.devices) + 1};
  const std::size_t size = sizes[random.below(4)];
  const bool chain = random.below(2) == 0;
  const std::size_t groups = 1 + random.below(4000 / size);
  for (std::size_t g = 0; g < groups; ++g) {
    TableGroup& group = task.groups.emplace_back();
    group.keep = random.below(5) == 0 && size == 2 ? Keep::kTogether : Keep::kApart;
    if (chain) {
      for (std::size_t i = 0; i < std::min(size, task.tables.size()); ++i) {
        group.tables.push_back(static_cast<int>(g + i) % tables);
      }
    } else {
      group.tables = some_of(tables, size, random);
    }
  }
  // Tables of one bundle are not to be kept apart.
  while (group_problem_of(task)) task.groups.pop_back();
}

/// Many tables on many devices, with rules and groups, in memory that hardly suffices or does not.
Task hard_task(std::uint64_t seed) {
  Random random(seed, 83);
  Task task;
  task.devices = 2 << random.below(8);
  const std::size_t tables = 20 + random.below(400);
  const int widths[] = {4, 64, 4096};
  for (std::size_t t = 0; t < tables; ++t) {
    task.tables.push_back({.name = {},
                           .rows = 1000 + static_cast<std::int64_t>(random.below(100'000)),
                           .dim = widths[random.below(3)],
                           .pooling_factor = 1.0 + static_cast<double>(random.below(20))});
    if (random.below(4) == 0) task.tables.back().rules.max_slices = 1 + static_cast<int>(t % 5);
  }
  if (random.below(2) == 0) add_rules(task, random);
  if (random.below(2) == 0) add_groups(task, random);
  const double fill = 0.9 + 0.3 * random.uniform();
  task.memory_bytes =
      1 + static_cast<std::int64_t>(fill * static_cast<double>(total_bytes(task)) / task.devices);
  if (random.below(3) == 0) task.reserved.bytes = task.memory_bytes / 10;
  if (random.below(3) == 0) {
    for (int d = 0; d < task.devices; ++d) {
      task.device_list.push_back({.memory_bytes = task.memory_bytes + d % 7, .speed = 1.0 + d % 3});
    }
  }
  return task;
}

/// A stop condition that is reached when it is asked for the n-th time.
class CountedStop {
 public:
  explicit CountedStop(std::uint64_t reached_at)
      : condition_([this, reached_at] { return ++asked_ >= reached_at; }) {}
  CountedStop(const CountedStop&) = delete;
  CountedStop& operator=(const CountedStop&) = delete;

  [[nodiscard]] const StopCondition& condition() const { return condition_; }
  [[nodiscard]] std::uint64_t asked() const { return asked_; }

 private:
  std::uint64_t asked_ = 0;
  StopCondition condition_;
};

constexpr std::uint64_t kNever = UINT64_MAX;

/// Pieces of work that need no search.
struct Work {
  std::string name;
  std::function<void(const StopCondition&)> run;
};

void climb(const Backend& backend, const BundledTask& canonical, const StopCondition& stop) {
  ShardCatalog catalog(backend, canonical);
  const TableWays ways(catalog, canonical, {});
  const Plan nothing{
      .slices = {},
      .shards = std::vector<std::vector<int>>(static_cast<std::size_t>(canonical.task.devices))};
  PlanState state(catalog, ways, nothing);
  StatePrices prices(state);
  (void)WayLadder(state, prices, stop).best(8, stop);
}

// Whoever is stopped may be asked for more before all of it ends, which is then not begun.
constexpr std::uint64_t kMostAsksAfterStop = 40;
// Looks at the stop condition, of which 16,384 steps are between two: some seconds at most.
constexpr std::uint64_t kMostAsks = 60'000;

TEST(BoundedWork, EndsAfterSomeStepsAndAtTheStop) {
  const CostModels models = testing::random_models(3, {.table_network = {4}, .head = {1}});
  const auto backend = make_cpu_backend(models);
  int stopped = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(12))) {
    const Task task = hard_task(seed);
    validate(task);
    const BundledTask canonical = canonical_task(task);
    const Task ruled = with_rules_of_groups(task);
    const std::optional<Task> starts = with_devices_of_apart_tables(canonical.task);
    const auto look_for_room = [&](const WayOptions& options, const StopCondition& stop) {
      (void)find_room(*backend, ruled, options, stop);
    };
    std::vector<Work> works = {
        {"proofs", [&](const StopCondition& stop) { (void)proof_of_infeasibility(task, stop); }},
        {"devices of apart tables",
         [&](const StopCondition& stop) {
           (void)with_devices_of_apart_tables(canonical.task, stop);
         }},
        {"room by halves",
         [&](const StopCondition& stop) { look_for_room({.halves = true}, stop); }},
        {"room in equal widths",
         [&](const StopCondition& stop) { look_for_room({.equal_widths = true}, stop); }},
        {"room in any ways", [&](const StopCondition& stop) { look_for_room({}, stop); }},
        {"way ladder", [&](const StopCondition& stop) { climb(*backend, canonical, stop); }}};
    if (starts) {
      works.push_back({"uniform slices", [&](const StopCondition& stop) {
                         (void)plan_of_uniform_width(*starts, 4, stop);
                       }});
      works.push_back({"baseline", [&](const StopCondition& stop) {
                         (void)place_by_baseline(*starts, Algorithm::kLookupGreedy, 0, stop);
                       }});
    }
    Random random(seed, 86);
    for (const Work& work : works) {
      SCOPED_TRACE(work.name);
      const CountedStop never(kNever);
      work.run(never.condition());
      EXPECT_LE(never.asked(), kMostAsks);
      // At once, and somewhere in it.
      const auto asked = static_cast<double>(std::max<std::uint64_t>(1, never.asked()));
      const double somewhere = random.log_uniform(1.0, asked);
      for (const std::uint64_t at : {std::uint64_t{1}, static_cast<std::uint64_t>(somewhere)}) {
        if (at > never.asked()) continue;
        const CountedStop stop(at);
        work.run(stop.condition());
        EXPECT_LE(stop.asked(), at + kMostAsksAfterStop);
        ++stopped;
      }
    }
  }
  EXPECT_GT(stopped, static_cast<int>(drawn_tasks(12)) * 4);
}

// Proofs end after the steps that they are given, and at the stop.
TEST(BoundedWork, ProofsCountTheirSteps) {
  constexpr std::uint64_t kSteps = std::uint64_t{1} << 17;
  // A device or a table is taken at once, with all that it may have to do with.
  constexpr std::uint64_t kMostAtOnce = 20'000;
  int spent = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    const Task task = hard_task(seed);
    const StopCondition never;
    StepBudget all(kSteps, never);
    (void)proof_by_rules(task, all);
    EXPECT_LE(all.taken(), kSteps + kMostAtOnce);
    spent += all.spent() ? 1 : 0;
    if (all.taken() < 2 * StepBudget::kStepsBetweenLooks) continue;
    const CountedStop second(2);
    StepBudget stopped(StepBudget::kAnySteps, second.condition());
    EXPECT_FALSE(proof_by_rules(task, stopped));
    EXPECT_TRUE(stopped.spent());
    EXPECT_EQ(second.asked(), 2U);
    EXPECT_LE(stopped.taken(), StepBudget::kStepsBetweenLooks + kMostAtOnce);
  }
  EXPECT_GT(spent, 0);
}

// A plan whose time is over before it begins is neither searched for nor denied by a proof.
TEST(BoundedWork, NothingIsSearchedForAfterTheDeadline) {
  const Planner planner(testing::random_models(4, {.table_network = {4}, .head = {1}}),
                        {.threads = 1});
  int ruled_out = 0;
  for (const std::uint64_t seed : testing::Seeds(60)) {
    const Task task = hard_task(seed);
    PlanRequest request;
    request.deadline = std::chrono::steady_clock::now();
    const PlanResult result = planner.plan(task, request);
    EXPECT_FALSE(result.plan);
    ASSERT_TRUE(result.infeasible);
    if (proof_by_memory(task)) {
      EXPECT_NE(result.infeasible->kind, Infeasibility::Kind::kNoTime);
      continue;
    }
    EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kNoTime);
    EXPECT_FALSE(result.complete);
    EXPECT_EQ(result.stats.placements, 0U);
    EXPECT_EQ(result.stats.edits, 0U);
    ruled_out += proof_of_infeasibility(task, StopCondition()) ? 1 : 0;
  }
  EXPECT_GT(ruled_out, 0);
}

/// Tables of which no two are equal, in memory that suffices, with rules, groups and links.
Task many_tables(std::uint64_t seed) {
  Random random(seed, 84);
  Task task;
  task.devices = 2 << random.below(8);
  const std::size_t tables = 200 + random.below(2000);
  const int widths[] = {16, 64, 1024};
  for (std::size_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 1000 + static_cast<std::int64_t>(random.below(100'000));
    table.dim = widths[random.below(3)];
    table.pooling_factor = 1.0 + 20.0 * random.uniform();
  }
  if (random.below(4) == 0) add_rules(task, random);
  if (random.below(4) == 0) add_groups(task, random);
  if (random.below(4) == 0) {
    task.devices_per_node = 2;
    task.links = NodeLinks{.in_node_gb_s = 200.0, .between_nodes_gb_s = 10.0};
  }
  task.memory_bytes =
      static_cast<std::int64_t>(2.0 * static_cast<double>(total_bytes(task)) / task.devices) +
      (std::int64_t{1} << 30);
  return task;
}

/// As Planner::plan() does it, on a backend of the caller's.
PlanResult plan_on(const Backend& backend, const Task& listed, const PlanRequest& request) {
  const Task task = with_rules_of_groups(listed);
  const StopCondition stop(request.deadline, request.stop);
  PlanResult result;
  const auto consider = [&](Plan plan) {
    PlanCost cost = simulate(backend, task, plan);
    if (!cost.fits_memory || (result.plan && cost.cost_ms >= result.cost.cost_ms)) return;
    result.plan = std::move(plan);
    result.cost = std::move(cost);
  };
  const Portfolio portfolio{.backend = backend, .task = task, .ways = {}, .stop = stop};
  LadderStart start(portfolio);
  start.begin(consider);
  start.add_work_to(result.stats);
  if (!result.plan && !stop.reached()) {
    RoomFound room = find_room(backend, task, {}, stop);
    if (room.plan) consider(*std::move(room.plan));
  }
  if (!result.plan) return result;
  const Plan found = *result.plan;
  portfolio.improve({&found, 1}, consider, result.stats);
  return result;
}

// Wherever it is stopped: while its first plans are made, while pieces are embedded or candidates
// listed, or while whole plans are improved.
TEST(BoundedWork, AWholeSearchEndsSoonAfterItsStop) {
  // All slices are placed anew at once, of which the next edits are priced before it is asked; a
  // plan that is handed out is priced, too.
  constexpr std::uint64_t kMostRowsAtOnce = 20'000;
  int stopped = 0;
  int with_plan = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(16))) {
    const Task task = many_tables(seed);
    validate(task);
    Random random(seed, 85);
    const auto rows =
        static_cast<std::uint64_t>(2000.0 * std::exp(std::log(1000.0) * random.uniform()));
    const auto cpu = make_cpu_backend(models_for(builtin_weights(), comm_setting(task)));
    const testing::CountingBackend backend(*cpu, rows);
    PlanRequest request;
    request.stop = backend.token();
    const PlanResult result = plan_on(backend, task, request);
    if (!backend.has_stopped()) continue;
    ++stopped;
    const std::size_t slices = result.plan ? result.plan->slices.size() : 0;
    const std::size_t of_task = task.tables.size() + static_cast<std::size_t>(task.devices);
    EXPECT_LE(backend.rows_after_stop(), kMostRowsAtOnce + 2 * (slices + of_task));
    with_plan += result.plan ? 1 : 0;
  }
  EXPECT_GT(stopped, static_cast<int>(drawn_tasks(16)) / 2);
  if (testing::kFewTasks) return;  // Too few tasks.
  EXPECT_GT(with_plan, 0);
}

}  // namespace
}  // namespace neuroshard
