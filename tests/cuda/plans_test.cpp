// Whole searches on CUDA: the plans of the CPU backend, to the last bit of their cost.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "core/base/random.h"
#include "cuda/cuda_test.h"
#include "golden.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_rules.h"
#include "search/search_driver.h"

namespace neuroshard {
namespace {

using testing::golden_models;
using testing::random_models;
using testing::repetitions;

using Plans = testing::CudaTest;

void expect_same_plan(const PlanResult& actual, const PlanResult& expected) {
  EXPECT_EQ(actual.plan, expected.plan);
  EXPECT_EQ(actual.cost.cost_ms, expected.cost.cost_ms);
  ASSERT_EQ(actual.infeasible.has_value(), expected.infeasible.has_value());
  if (actual.infeasible) {
    EXPECT_EQ(actual.infeasible->message, expected.infeasible->message);
  }
  EXPECT_EQ(actual.stats.warning, "");
  EXPECT_EQ(actual.stats.candidates, expected.stats.candidates);
  EXPECT_EQ(actual.stats.placements, expected.stats.placements);
  EXPECT_EQ(actual.stats.edits, expected.stats.edits);
}

void expect_same_plans(const std::vector<PlanOutcome>& actual,
                       const std::vector<PlanOutcome>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(actual[i].has_value() && expected[i].has_value());
    expect_same_plan(*actual[i], *expected[i]);
  }
}

// Plans the same tasks on the CPU and on CUDA.
class PlannerPair {
 public:
  PlannerPair(const CostModels& models, PlannerOptions options)
      : cpu_(models, with_backend(options, available_cpu_backends().front())),
        cuda_(models, with_backend(options, "cuda")) {}

  void expect_same(const Task& task) const {
    const std::optional<std::uint64_t> before = testing::launches_so_far();
    const PlanResult actual = cuda_.plan(task);
    const bool launched = testing::launches_so_far() != before;
    const PlanResult expected = cpu_.plan(task);
    expect_same_plan(actual, expected);
    // Tasks that the portfolio finds no plan for, or plans by itself, never ask the GPU.
    if (launched) {
      EXPECT_EQ(actual.stats.backend, "cuda");
    } else if (actual.stats.backend != "cuda") {
      EXPECT_EQ(actual.stats.backend, expected.stats.backend);
    }
  }

  void expect_same_batch(const std::vector<Task>& tasks) const {
    expect_same_plans(cuda_.plan_batch(tasks), cpu_.plan_batch(tasks));
  }

 private:
  static PlannerOptions with_backend(PlannerOptions options, const std::string& name) {
    options.backend = name;
    return options;
  }

  Planner cpu_;
  Planner cuda_;
};

// On the CPU the small ones, since kernels run a thousand times slower there; all if
// NEUROSHARD_ALL_GOLDEN_TASKS is set (docs/testing.md).
bool takes_golden_task(int number, const Task& task, std::uint64_t small_ones) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const bool all = std::getenv("NEUROSHARD_ALL_GOLDEN_TASKS") != nullptr;
  if (all || testing::runs_on_gpu()) return true;
  return number < static_cast<int>(small_ones) && task.tables.size() <= 22;
}

// Efforts that NEUROSHARD_GOLDEN_EFFORTS names (docs/testing.md); all but thorough if it is not
// set.
bool takes_golden_effort(Effort effort) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* named = std::getenv("NEUROSHARD_GOLDEN_EFFORTS");
  if (named == nullptr) return effort != Effort::kThorough;
  return (',' + std::string(named) + ',').find(',' + std::string(name_of(effort)) + ',') !=
         std::string::npos;
}

// A task by itself has no launches at effort fast; those of a set together have.
void expect_same_golden_tasks(Effort effort, int& compared) {
  const PlannerPair pair(golden_models(), {.effort = effort});
  for (const std::string& set : testing::golden_sets()) {
    std::vector<Task> tasks;
    for (const auto& golden : testing::golden_plans(set)) {
      const Task task = testing::golden_task(set, golden.task);
      if (!takes_golden_task(golden.task, task, repetitions(4))) continue;
      SCOPED_TRACE(set + " task " + std::to_string(golden.task));
      ++compared;
      if (effort == Effort::kFast) {
        tasks.push_back(task);
      } else {
        pair.expect_same(task);
      }
    }
    SCOPED_TRACE(set);
    pair.expect_same_batch(tasks);
  }
}

TEST_F(Plans, GoldenTasks) {
  int compared = 0;
  for (const Effort effort : all_efforts()) {
    if (!takes_golden_effort(effort)) continue;
    SCOPED_TRACE(name_of(effort));
    expect_same_golden_tasks(effort, compared);
  }
  RecordProperty("compared", compared);
  if (const auto launches = testing::launches_so_far()) {
    RecordProperty("launches", static_cast<int>(*launches));
  }
  EXPECT_GT(compared, 0);
}

// Random tasks (docs/testing.md) come in rounds, each with models, sizes of searches and threads of
// its own; those of one effort are planned together. Some are planned with more effort, which takes
// long.
constexpr std::uint64_t kTasksOfRound = 96;

Effort effort_of(std::uint64_t seed) {
  if (seed % 16 == 0) return Effort::kThorough;
  return seed % 16 < 4 ? Effort::kDefault : Effort::kFast;
}

struct Round {
  explicit Round(std::uint64_t number) {
    switch (number % 3) {
      case 0:
        models = builtin_weights();
        break;
      case 1:
        models = random_models(number, {.any_batch = true});
        set_known_network(models, NodeNetwork{8, {300.0, 25.0}});
        break;
      default:
        for (int devices = 1; devices <= 16; ++devices) dense.devices.push_back(devices);
        models = random_models(number, dense);
    }
    switch (number % 5) {
      case 0:
        options.search = {.beam_width = 3, .candidates = 4, .max_splits = 5, .grid_steps = 4};
        break;
      case 1:
        options.search = {.beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 6};
        break;
      case 2:
        options.search = {.beam_width = 1, .candidates = 7, .max_splits = 6, .grid_steps = 3};
        break;
      case 3:
        options.search = {.beam_width = 33, .candidates = 1, .max_splits = 2, .grid_steps = 2};
        break;
      default:
        break;  // As users have them.
    }
    options.threads = 1 + static_cast<int>(number % 2);
    options.equal_widths = number % 7 == 6;
  }

  [[nodiscard]] bool any_devices() const { return dense.devices.empty(); }

  CostModels models;
  testing::ModelShape dense{};
  PlannerOptions options{};
};

// With everything that a task can say but links, whose tasks no GPU takes.
Task task_of_all_kinds(std::uint64_t seed, const Round& round) {
  Task task = testing::random_task_of_all_kinds(seed);
  if (!round.any_devices()) task.batch_size = Task{}.batch_size;
  Random random(seed, 61);
  if (random.below(4) == 0) testing::add_random_rules(task, random);
  if (random.below(6) == 0) testing::add_random_kinds(task, random);
  if (random.below(6) == 0) testing::add_random_groups(task, 1 + random.below(3), random);
  task.devices_per_node = 1 + static_cast<int>(random.below(9));
  return task;
}

// Draws a task of equal devices, and none that the search leaves to the CPU.
Task task_for_device(std::uint64_t seed, const Round& round) {
  Task task = testing::random_task(seed);
  if (round.any_devices() && seed % 8 == 5) {
    const int devices = 17 + static_cast<int>(seed / 8 % 112);
    task.memory_bytes = std::max(task.memory_bytes * task.devices / devices, std::int64_t{1});
    task.devices = devices;
  }
  return task;
}

// By the backend alone: nothing is left to another one for being small.
std::vector<PlanOutcome> searched_on(const Backend& backend, const PlannerOptions& options,
                                     const std::vector<Task>& tasks) {
  const PlanRequest request;
  SearchDriver driver(backend, options, request);
  std::vector<PlanOutcome> outcomes(tasks.size());
  std::vector<SearchDriver::Job> jobs;
  for (std::size_t i = 0; i < tasks.size(); ++i) jobs.push_back({tasks[i], outcomes[i]});
  driver.add(jobs);
  while (driver.in_flight() > 0) driver.advance();
  return outcomes;
}

// The planner with a GPU, and all that it takes at once. It places on the CPU what is sooner there,
// so the test counts launches.
TEST_F(Plans, RandomTasks) {
  const auto [first, end] = testing::random_task_seeds(testing::runs_on_gpu() ? 1008
                                                       : NEUROSHARD_SANITIZED ? 12
                                                                              : 16);
  struct OfEffort {
    int plans = 0;
    int plans_with_launches = 0;  ///< Batches count as one.
  };
  std::map<Effort, OfEffort> seen;
  for (std::uint64_t seed = first; seed < end;) {
    const Round round(seed / kTasksOfRound);
    std::map<Effort, std::vector<Task>> tasks;
    SCOPED_TRACE(seed);
    do {
      tasks[effort_of(seed)].push_back(task_of_all_kinds(seed, round));
    } while (++seed < end && seed % kTasksOfRound != 0);
    for (const auto& group : tasks) {
      const Effort effort = group.first;
      const std::vector<Task>& of_effort = group.second;
      SCOPED_TRACE(name_of(effort));
      if (effort == Effort::kThorough && NEUROSHARD_SANITIZED) continue;
      PlannerOptions options = round.options;
      options.effort = effort;
      if (round.any_devices() && !options.equal_widths) options.cuts = Cuts::kAny;
      const PlannerPair pair(round.models, options);
      const auto count = [&](const auto& plan) {
        const std::optional<std::uint64_t> before = testing::launches_so_far();
        plan();
        seen[effort].plans += 1;
        seen[effort].plans_with_launches += testing::launches_so_far() != before ? 1 : 0;
      };
      if (effort == Effort::kFast) {
        count([&] { pair.expect_same_batch(of_effort); });
        continue;
      }
      for (const Task& task : of_effort) {
        SCOPED_TRACE(&task - of_effort.data());
        count([&] { pair.expect_same(task); });
      }
    }
  }
  for (const auto& [effort, of_effort] : seen) {
    RecordProperty("plans_" + std::string(name_of(effort)), of_effort.plans);
    RecordProperty("with_launches_" + std::string(name_of(effort)), of_effort.plans_with_launches);
    if (testing::launches_so_far() && of_effort.plans > 1) {
      EXPECT_GT(of_effort.plans_with_launches, 0) << name_of(effort);
    }
  }
}

// All of it on the device, however small it is.
TEST_F(Plans, RandomTasksOnTheDeviceAlone) {
  const auto [first, end] = testing::random_task_seeds(testing::runs_on_gpu() ? 1008
                                                       : NEUROSHARD_SANITIZED ? 12
                                                                              : 24);
  for (std::uint64_t seed = first; seed < end;) {
    const Round round(seed / kTasksOfRound);
    SCOPED_TRACE(seed);
    const auto cpu = make_cpu_backend(round.models, {.name = available_cpu_backends().front()});
    const auto cuda = make_cuda_backend(round.models);
    const auto compare = [&](const PlannerOptions& options, const std::vector<Task>& tasks) {
      const std::optional<std::uint64_t> before = testing::launches_so_far();
      expect_same_plans(searched_on(*cuda, options, tasks), searched_on(*cpu, options, tasks));
      EXPECT_TRUE(!before || testing::launches_so_far() > before);
    };
    PlannerOptions options = round.options;
    std::vector<Task> together;
    do {
      const Task task = task_for_device(seed, round);
      options.effort = effort_of(seed);
      if (options.effort == Effort::kFast) {
        together.push_back(task);
      } else if (options.effort == Effort::kDefault || !NEUROSHARD_SANITIZED) {
        compare(options, {task});  // Too few chains for a launch: thousands of edits take too long.
      }
    } while (++seed < end && seed % kTasksOfRound != 0);
    if (together.empty()) continue;
    options.effort = Effort::kFast;
    compare(options, together);
    options.algorithm = Algorithm::kPublished;
    options.equal_widths = false;
    options.search.memory_splits = round.options.threads == 1;
    compare(options, together);
  }
}

// Whole beam searches on the device.
TEST_F(Plans, PublishedSearchesOfGoldenTasks) {
  PlannerOptions options{.algorithm = Algorithm::kPublished};
  int compared = 0;
  const PlannerPair pair(golden_models(), options);
  for (const std::string& set : testing::golden_sets()) {
    std::vector<Task> tasks;
    for (const auto& golden : testing::golden_plans(set)) {
      const Task task = testing::golden_task(set, golden.task);
      if (!takes_golden_task(golden.task, task, repetitions(2))) continue;
      SCOPED_TRACE(set + " task " + std::to_string(golden.task));
      pair.expect_same(task);
      tasks.push_back(task);
      ++compared;
    }
    SCOPED_TRACE(set);
    pair.expect_same_batch(tasks);
  }
  EXPECT_GT(compared, 0);
}

// Few and small ones, for sanitizers: with heads in registers and not, on fewer devices than a warp
// has lanes and on more.
TEST_F(Plans, PublishedSearchesByEveryKernel) {
  PlannerOptions options{.algorithm = Algorithm::kPublished};
  options.search = {.beam_width = 2, .candidates = 2, .max_splits = 3, .grid_steps = 5};
  for (const testing::ModelShape& shape :
       {testing::ModelShape{},
        testing::ModelShape{.table_network = {24, 48}, .head = {32, 16, 1}}}) {
    const PlannerPair pair(random_models(5, shape), options);
    for (const int devices : {3, 40}) {
      SCOPED_TRACE(devices);
      Task task = testing::golden_task("2gpu_dim64", 0);
      task.devices = devices;
      const std::optional<std::uint64_t> before = testing::launches_so_far();
      pair.expect_same(task);
      EXPECT_TRUE(!before || testing::launches_so_far() > before);
    }
  }
}

TEST_F(Plans, PublishedSearchesOfRandomTasks) {
  const SearchOptions sizes[] = {
      {.beam_width = 1, .candidates = 1, .max_splits = 1, .grid_steps = 3},
      {.beam_width = 3, .candidates = 5, .max_splits = 4, .grid_steps = 2},
      {.beam_width = 2, .candidates = 1000, .max_splits = 2, .grid_steps = 1},
      {.beam_width = 32, .candidates = 2, .max_splits = 3, .grid_steps = 2},
      {.beam_width = 33, .candidates = 1, .max_splits = 2, .grid_steps = 2},  // Level by level.
      {.beam_width = 4, .candidates = 3, .max_splits = 0, .grid_steps = 5},
      {.memory_splits = false}};
  const std::uint64_t tasks_of_each = repetitions(testing::runs_on_gpu() ? 200 : 8);
  std::uint64_t seed = 500;
  for (const SearchOptions& search : sizes) {
    const PlannerPair pair(random_models(seed % 3),
                           {.algorithm = Algorithm::kPublished, .search = search, .threads = 2});
    std::vector<Task> tasks;
    for (std::uint64_t i = 0; i < tasks_of_each; ++i) {
      SCOPED_TRACE(seed);
      tasks.push_back(testing::random_task(seed++));
      // Equal tables, whose costs and sizes tie.
      if (i % 2 == 0) tasks.back().tables.push_back(tasks.back().tables.front());
      pair.expect_same(tasks.back());
    }
    pair.expect_same_batch(tasks);
  }
}

// These are placed on the CPU, beside others that are not.
TEST_F(Plans, DevicesThatDiffer) {
  const CostModels models =
      random_models(5, {.table_network = {16, 8}, .head = {8, 1}, .devices = {}});
  const PlannerPair pair(models, {.effort = Effort::kFast});
  std::vector<Task> tasks;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Task task = testing::random_task(seed);
    if (seed % 2 == 0) {
      task.device_list.assign(static_cast<std::size_t>(task.devices),
                              {.memory_bytes = task.memory_bytes});
      task.device_list.front().speed = 2.0;
      task.device_list.back().base_ms = 2.0;
      task.tables.front().rules = {.max_slices = 2, .devices = {task.devices - 1}};
    }
    tasks.push_back(std::move(task));
  }
  pair.expect_same_batch(tasks);
}

TEST_F(Plans, BatchesOfTasks) {
  PlannerOptions options{
      .search = {.beam_width = 2, .candidates = 3, .max_splits = 3, .grid_steps = 5}, .threads = 2};
  // On the CPU, chains of some hundred edits, all of them in one launch.
  if (!testing::runs_on_gpu()) {
    options.effort = Effort::kFast;
    options.threads = 1;
  }
  const PlannerPair pair(random_models(8), options);
  std::vector<Task> tasks;
  const std::uint64_t end = NEUROSHARD_SANITIZED ? 308 : 330;
  for (std::uint64_t seed = 300; seed < end; ++seed) tasks.push_back(testing::random_task(seed));
  pair.expect_same_batch(tasks);
}

}  // namespace
}  // namespace neuroshard
