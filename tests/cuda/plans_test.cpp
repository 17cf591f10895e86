// Whole searches on CUDA: the plans of the CPU backend, to the last bit of their cost.
#include <gmock/gmock.h>

#include "cuda/cuda_test.h"
#include "golden.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::golden_models;
using testing::random_models;
using testing::repetitions;

using Plans = testing::CudaTest;

// Plans the same tasks on the CPU and on CUDA.
class PlannerPair {
 public:
  PlannerPair(const CostModels& models, PlannerOptions options)
      : cpu_(models, with_backend(options, available_cpu_backends().front())),
        cuda_(models, with_backend(options, "cuda")) {}

  void expect_same(const Task& task) const {
    const PlanResult expected = cpu_.plan(task);
    const PlanResult actual = cuda_.plan(task);
    EXPECT_EQ(actual.plan, expected.plan);
    EXPECT_EQ(actual.cost.cost_ms, expected.cost.cost_ms);
    EXPECT_EQ(actual.infeasible.has_value(), expected.infeasible.has_value());
    EXPECT_EQ(actual.stats.backend, "cuda");
    EXPECT_EQ(actual.stats.warning, "");
    EXPECT_EQ(actual.stats.candidates, expected.stats.candidates);
    EXPECT_EQ(actual.stats.placements, expected.stats.placements);
  }

  void expect_same_batch(const std::vector<Task>& tasks) const {
    const std::vector<PlanOutcome> expected = cpu_.plan_batch(tasks);
    const std::vector<PlanOutcome> actual = cuda_.plan_batch(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(actual[i]->plan, expected[i]->plan);
      EXPECT_EQ(actual[i]->cost.cost_ms, expected[i]->cost.cost_ms);
      EXPECT_EQ(actual[i]->stats.candidates, expected[i]->stats.candidates);
      EXPECT_EQ(actual[i]->stats.backend, "cuda");
    }
  }

  [[nodiscard]] const Planner& cuda() const { return cuda_; }
  [[nodiscard]] const Planner& cpu() const { return cpu_; }

 private:
  static PlannerOptions with_backend(PlannerOptions options, const std::string& name) {
    options.backend = name;
    return options;
  }

  Planner cpu_;
  Planner cuda_;
};

TEST_F(Plans, GoldenTasks) {
  const PlannerPair pair(golden_models(), {});
  const int small_ones = static_cast<int>(repetitions(4));
  int compared = 0;
  for (const std::string& set : testing::golden_sets()) {
    for (const auto& golden : testing::golden_plans(set)) {
      const Task task = testing::golden_task(set, golden.task);
      // On the CPU, the small ones: the kernels run a thousand times slower there.
      if (!testing::runs_on_gpu() && (golden.task >= small_ones || task.tables.size() > 22)) {
        continue;
      }
      SCOPED_TRACE(set + " task " + std::to_string(golden.task));
      pair.expect_same(task);
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

TEST_F(Plans, RandomTasks) {
  PlannerOptions options;
  options.search = {.beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 6};
  const PlannerPair pair(random_models(5), options);
  const std::uint64_t tasks = repetitions(testing::runs_on_gpu() ? 1000 : 30);
  for (std::uint64_t seed = 0; seed < tasks; ++seed) {
    SCOPED_TRACE(seed);
    pair.expect_same(testing::random_task(seed));
  }
}

// Whole beam searches on the device.
TEST_F(Plans, PublishedSearchesOfGoldenTasks) {
  PlannerOptions options{.algorithm = Algorithm::kPublished};
  const int small_ones = static_cast<int>(repetitions(2));
  int compared = 0;
  const PlannerPair pair(golden_models(), options);
  for (const std::string& set : testing::golden_sets()) {
    std::vector<Task> tasks;
    for (const auto& golden : testing::golden_plans(set)) {
      const Task task = testing::golden_task(set, golden.task);
      if (!testing::runs_on_gpu() && (golden.task >= small_ones || task.tables.size() > 22)) {
        continue;
      }
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
  const std::vector<PlanOutcome> expected = pair.cpu().plan_batch(tasks);
  const std::vector<PlanOutcome> actual = pair.cuda().plan_batch(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(actual[i]->plan, expected[i]->plan);
    EXPECT_EQ(actual[i]->stats.warning, "");
  }
}

TEST_F(Plans, BatchesOfTasks) {
  PlannerOptions options;
  options.search = {.beam_width = 2, .candidates = 3, .max_splits = 3, .grid_steps = 5};
  options.threads = 2;
  // On the CPU, chains of some hundred edits, all of them in one launch.
  if (!testing::runs_on_gpu()) {
    options.effort = Effort::kFast;
    options.threads = 1;
  }
  const PlannerPair pair(random_models(8), options);
  std::vector<Task> tasks;
  const std::uint64_t end = NEUROSHARD_SANITIZED ? 308 : 330;
  for (std::uint64_t seed = 300; seed < end; ++seed) tasks.push_back(testing::random_task(seed));
  const auto expected = pair.cpu().plan_batch(tasks);
  const auto actual = pair.cuda().plan_batch(tasks);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(actual[i]->plan, expected[i]->plan);
    EXPECT_EQ(actual[i]->cost.cost_ms, expected[i]->cost.cost_ms);
    EXPECT_EQ(actual[i]->stats.backend, "cuda");
  }
}

}  // namespace
}  // namespace neuroshard
