// How many launches and waits calls of the backend and of the planner take.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>
#include <stop_token>

#include "core/base/random.h"
#include "core/kernels/cpu_kernels.h"
#include "core/placement/cpu_backend.h"
#include "core/placement/fallback_backend.h"
#include "core/placement/greedy_placement.h"
#include "core/placement/plan_launches.h"
#include "cuda/random_problems.h"
#include "cuda_host/host_cuda_test.h"
#include "golden.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "search/published_search.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using testing::golden_models;
using testing::random_candidates;
using testing::random_problem;

using Launches = testing::HostCudaTest;

struct Counts {
  std::uint64_t launches = 0;
  std::uint64_t waits = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
  friend void PrintTo(const Counts& counts, std::ostream* out) {
    *out << counts.launches << " launches, " << counts.waits << " waits";
  }
};

Counts counted(const std::function<void()>& work) {
  const host_cuda::Usage before = host_cuda::usage();
  work();
  const host_cuda::Usage after = host_cuda::usage();
  return {after.launches - before.launches, after.synchronisations - before.synchronisations};
}

/// Makes a task of published tables, on devices of 16 GiB.
Task task_of(int devices, std::size_t tables) {
  Task task = testing::golden_task("4gpu_dim128", 0);
  for (int more = 1; task.tables.size() < tables; ++more) {
    const Task other = testing::golden_task("4gpu_dim128", more);
    task.tables.insert(task.tables.end(), other.tables.begin(), other.tables.end());
  }
  task.tables.resize(tables);
  task.devices = devices;
  task.memory_bytes = std::int64_t{16} << 30;
  return task;
}

TEST_F(Launches, ASteadyLoadAllocatesNothingAndWaitsOnce) {
  const auto cuda = make_cuda_backend(golden_models());
  const auto round = [&](std::uint64_t seed) {
    std::vector<testing::OwnedProblem> problems;
    std::vector<std::unique_ptr<PlacementSession>> sessions;
    std::vector<CandidateBatch> batches;
    std::vector<std::vector<CandidateResult>> results;
    for (std::uint64_t s = 0; s < 5; ++s) {
      problems.push_back(random_problem(seed + s, {.devices = 4}, cuda->embedding_width()));
      sessions.push_back(cuda->start(problems.back()));
      batches.push_back(random_candidates(seed + s, problems.back(), 6, 24));
      results.emplace_back(batches.back().size());
    }
    std::vector<Backend::Request> requests;
    for (std::size_t s = 0; s < 5; ++s) {
      requests.push_back({sessions[s].get(), &batches[s], results[s]});
    }
    cuda->place(requests);
  };
  round(0);
  const std::uint64_t allocations = host_cuda::usage().total_allocations;
  const Counts counts = counted([&] {
    for (std::uint64_t seed = 1; seed < 4; ++seed) round(seed);
  });
  EXPECT_EQ(host_cuda::usage().total_allocations, allocations);
  EXPECT_EQ(counts, (Counts{3, 3}));
}

TEST_F(Launches, AWholeSearchIsOneLaunchAndOneWait) {
  PlannerOptions options{.algorithm = Algorithm::kPublished};
  options.search.max_splits = 4;
  options.backend = available_cpu_backends().front();
  const Task task = task_of(4, 40);
  const PlanResult expected = Planner(golden_models(), options).plan(task);
  ASSERT_TRUE(expected.plan.has_value());
  options.backend = "auto";
  for (const int failing : {-1, 0}) {
    SCOPED_TRACE(failing);
    host_cuda::reset({.multiprocessors = 132, .resident_blocks = 2});
    const Planner planner(golden_models(), options);
    host_cuda::fail_after(failing);
    PlanResult actual;
    const Counts counts = counted([&] { actual = planner.plan(task); });
    EXPECT_EQ(counts.launches, 1U);
    if (failing < 0) {
      EXPECT_EQ(counts.waits, 1U);
    }
    EXPECT_EQ(actual.plan, expected.plan);
    EXPECT_EQ(actual.cost.cost_ms, expected.cost.cost_ms);
    EXPECT_EQ(actual.stats.candidates, expected.stats.candidates);
    EXPECT_EQ(actual.stats.placements, expected.stats.placements);
    EXPECT_EQ(actual.stats.warning.empty(), failing < 0);
  }
}

/// Work of a published search, its levels one after the other.
struct SearchWork {
  std::uint64_t candidates = 0;
  std::uint64_t different = 0;        ///< Candidates of a level that differ in their pieces.
  std::uint64_t heads = 0;            ///< Heads of all candidates, each limit by itself.
  std::uint64_t different_heads = 0;  ///< Heads of the different ones.
};

SearchWork work_of(const CpuBackend& cpu, const CostModels& models, PublishedSearch& search) {
  const PackedComputeModel model(models.compute);
  GreedyPlacement greedy(select_cpu_kernels("scalar"), model, search.problem());
  const auto session = cpu.start(search.problem());
  SearchWork work;
  while (search.running()) {
    const CandidateBatch& batch = search.candidates();
    std::set<std::vector<std::uint32_t>> seen;
    for (std::size_t c = 0; c < batch.size(); ++c) {
      const std::span<const std::uint32_t> pieces = batch.pieces_of(c);
      const std::uint64_t before = greedy.head_evaluations();
      for (const std::int64_t limit : search.problem().dim_limits) (void)greedy.run(pieces, limit);
      const std::uint64_t heads = greedy.head_evaluations() - before;
      std::vector<std::uint32_t> sorted(pieces.begin(), pieces.end());
      std::sort(sorted.begin(), sorted.end());
      const bool is_new = seen.insert(std::move(sorted)).second;
      work.candidates += 1;
      work.different += is_new ? 1 : 0;
      work.heads += heads;
      work.different_heads += is_new ? heads : 0;
    }
    std::vector<CandidateResult> results(batch.size());
    session->place(batch, results);
    search.take(results, *session);
  }
  return work;
}

// Each different candidate of a level is placed once, unless pieces that differ cost the same, so
// that equal candidates may be placed in different orders.
TEST_F(Launches, ASearchPlacesEqualCandidatesOnce) {
  // There is a warp for each limit, which shares no steps.
  host_cuda::reset({.multiprocessors = 132, .resident_blocks = 2});
  SearchOptions options;
  options.max_splits = 3;
  CostModels equal_costs = testing::random_models(3);
  auto& output = equal_costs.compute.head.layers.back().weight;
  std::fill(output.begin(), output.end(), 0.0F);
  const std::vector<const CostModels*> all{&golden_models(), &builtin_weights(), &equal_costs};
  for (const CostModels* models : all) {
    const CpuBackend cpu(select_cpu_kernels("scalar"), *models, true);
    const auto cuda = make_cuda_backend(*models);
    for (const int copies : {1, 2}) {
      SCOPED_TRACE(copies);
      Task task = task_of(4, 12);
      if (copies == 2) task.tables.insert(task.tables.end(), 3, task.tables.front());
      const PieceCatalog catalog(cpu, task);
      PublishedSearch search(cpu, task, options, catalog);
      const auto session = cuda->start(search.problem());
      ASSERT_EQ(search.beams().size(), 1U);
      BeamOutcome outcome;
      ASSERT_TRUE(cuda->search_beams({{{session.get(), search.beams().data(), &outcome}}}));
      const SearchWork work = work_of(cpu, *models, search);
      EXPECT_LT(work.different, work.candidates);
      EXPECT_EQ(outcome.candidates, work.candidates);
      const std::uint64_t heads = session->counters().head_evaluations;
      EXPECT_EQ(heads, models == &equal_costs ? work.heads : work.different_heads);
    }
  }
}

// A launch cannot be stopped, so only a search that ends soon is one.
TEST_F(Launches, ASearchThatMayBeStoppedIsOneLaunchIfItIsShort) {
  PlannerOptions options{.backend = "cuda", .threads = 1};
  options.search = {.beam_width = 3, .candidates = 10, .max_splits = 3, .grid_steps = 11};
  const Task task = task_of(4, 40);
  const auto launches = [&](const PlanRequest& request) {
    const Planner planner(golden_models(), options);
    return counted([&] { EXPECT_TRUE(planner.plan(task, request).plan.has_value()); }).launches;
  };
  PlanRequest with_deadline;
  with_deadline.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  const std::stop_source source;
  PlanRequest with_stop;
  with_stop.stop = source.get_token();
  EXPECT_EQ(launches({}), 1U);
  EXPECT_EQ(launches(with_deadline), 1U);
  EXPECT_EQ(launches(with_stop), 1U);
  options.search.candidates = 2;
  options.search.max_splits = 40;  // More than a millisecond by the estimate.
  EXPECT_EQ(launches(with_deadline), 0U);
  EXPECT_EQ(launches(with_stop), 0U);
}

// This holds for every effort and any cuts: a search of its own is one launch, and the ladders of
// one task are for the CPU.
TEST_F(Launches, APlanTakesTwoLaunchesAndTwoWaitsAtMost) {
  struct Case {
    std::string name;
    Task task;
    std::uint64_t of_fast;
    std::uint64_t launches;  ///< Launches of more effort.
  };
  const auto tight = [](Task task) {
    task.memory_bytes = total_bytes(task) / task.devices * 102 / 100;
    return task;
  };
  std::vector<Case> cases = {{"4 devices", task_of(4, 40), 0, 1},
                             {"16 devices", task_of(16, 40), 0, 1},
                             {"64 devices", task_of(64, 40), 0, 1},
                             {"tight memory", tight(task_of(4, 40)), 0, 1},
                             {"16 devices, tight memory", tight(task_of(16, 40)), 0, 1}};
  Task task = task_of(4, 40);
  for (int device = 0; device < task.devices; ++device) {
    task.device_list.push_back({.memory_bytes = task.memory_bytes});
    if (device % 2 == 0) task.device_list.back().speed = 1.5;
  }
  cases.push_back({"devices of two speeds", std::move(task), 0, 0});

  PlannerOptions options{.cuts = Cuts::kAny, .threads = 4};
  options.search = {.beam_width = 2, .candidates = 4, .max_splits = 4, .grid_steps = 2};
  for (const Case& of : cases) {
    for (const Effort effort : all_efforts()) {
      // It takes long; elsewhere, too, it has as many launches as default.
      if (effort == Effort::kThorough && (NEUROSHARD_SANITIZED || &of != cases.data())) continue;
      if (NEUROSHARD_SANITIZED && of.task.devices > 4) continue;
      SCOPED_TRACE(of.name + ", " + std::string(name_of(effort)));
      options.effort = effort;
      options.backend = available_cpu_backends().front();
      const PlanResult expected = Planner(builtin_weights(), options).plan(of.task);
      options.backend = "cuda";
      host_cuda::reset({.multiprocessors = 132, .resident_blocks = 2});
      const Planner planner(builtin_weights(), options);
      PlanResult actual;
      const Counts counts = counted([&] { actual = planner.plan(of.task); });
      const std::uint64_t launches = effort == Effort::kFast ? of.of_fast : of.launches;
      EXPECT_EQ(counts, (Counts{launches, launches}));
      EXPECT_TRUE(actual.plan.has_value());
      EXPECT_EQ(actual.plan, expected.plan);
      EXPECT_EQ(actual.cost.cost_ms, expected.cost.cost_ms);
      EXPECT_EQ(actual.stats.candidates, expected.stats.candidates);
      EXPECT_EQ(actual.stats.placements, expected.stats.placements);
    }
  }
}

// On 2 to 128 devices, equal or not, with more or less memory than needed.
Task drawn_task(std::uint64_t seed) {
  Random random(seed, 71);
  Task task = task_of(2 + static_cast<int>(seed % 3 == 0 ? random.below(127) : random.below(15)),
                      5 + random.below(60));
  constexpr double kSlacks[] = {0.9, 1.01, 1.02, 1.05, 1.1, 1.3, 2.0, 8.0};
  const double slack = kSlacks[random.below(std::size(kSlacks))];
  task.memory_bytes =
      static_cast<std::int64_t>(static_cast<double>(total_bytes(task)) * slack) / task.devices;
  if (random.below(4) == 0) testing::add_random_rules(task, random);
  if (random.below(4) == 0) testing::add_random_kinds(task, random);
  return task;
}

// Whatever the task and the effort. With one thread, which places the least on the CPU.
TEST_F(Launches, NoPlanOfRandomTasksTakesMoreThanTwo) {
  const auto [first, end] = testing::random_task_seeds(NEUROSHARD_SANITIZED ? 3 : 12);
  std::map<std::uint64_t, int> plans;  // By their launches.
  for (std::uint64_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE(seed);
    const Task task = drawn_task(seed);
    PlannerOptions options{.cuts = seed % 4 == 0 ? Cuts::kColumns : Cuts::kAny, .threads = 1};
    options.effort = seed % 24 == 11 && !NEUROSHARD_SANITIZED ? Effort::kThorough
                     : seed % 2 == 0                          ? Effort::kFast
                                                              : Effort::kDefault;
    options.search = {.beam_width = 2, .candidates = 4, .max_splits = 4, .grid_steps = 2};
    options.backend = available_cpu_backends().front();
    const PlanResult expected = Planner(builtin_weights(), options).plan(task);
    options.backend = "cuda";
    host_cuda::reset({.multiprocessors = 132, .resident_blocks = 2});
    const Planner planner(builtin_weights(), options);
    PlanResult actual;
    const Counts counts = counted([&] { actual = planner.plan(task); });
    EXPECT_LE(counts.launches, 2U);
    EXPECT_LE(counts.waits, 2U);
    EXPECT_EQ(actual.plan, expected.plan);
    EXPECT_EQ(actual.cost.cost_ms, expected.cost.cost_ms);
    EXPECT_EQ(actual.stats.candidates, expected.stats.candidates);
    EXPECT_EQ(actual.stats.placements, expected.stats.placements);
    ++plans[counts.launches];
  }
  for (const auto& [launches, count] : plans) {
    RecordProperty("plans_with_" + std::to_string(launches) + "_launches", count);
  }
  if (end - first < 12) return;
  for (const std::uint64_t launches : {0U, 1U}) EXPECT_GT(plans[launches], 0) << launches;
}

// Candidates that a launch has no room for go in a further one, which is one of the plan's, too.
TEST_F(Launches, ALevelThatTakesTwoLaunchesTakesTwoOfThePlan) {
  host_cuda::reset({.multiprocessors = 132});
  const CostModels models = testing::random_models(1, {.devices = {}});
  const auto cuda = make_cuda_backend(models);
  const auto cpu = make_cpu_backend(models);
  const auto problem = random_problem(1, {.devices = 1024, .pieces = 20}, cuda->embedding_width());
  const auto batch = random_candidates(1, problem, 1300, 30);
  std::vector<CandidateResult> expected(batch.size());
  cpu->start(problem)->place(batch, expected);
  const auto taken_of = [&](int most) {
    PlanLaunches launches(most);
    const FallbackBackend both(*cuda, *cpu, /*may_fall_back=*/false, 1, &launches);
    const auto session = both.start(problem);
    std::vector<CandidateResult> results(batch.size());
    const Counts counts = counted([&] { session->place(batch, results); });
    EXPECT_EQ(results, expected);
    EXPECT_EQ(launches.any(), counts.launches < static_cast<std::uint64_t>(most));
    EXPECT_LE(counts.waits, 1U);
    return counts.launches;
  };
  EXPECT_EQ(taken_of(1), 0U);
  EXPECT_EQ(taken_of(2), 2U);
  EXPECT_EQ(taken_of(3), 2U);
}

TEST_F(Launches, TasksAreSpreadOverSeveralDevices) {
  host_cuda::reset({.devices = 3});
  ASSERT_EQ(cuda_devices().size(), 3U);
  const auto cuda = make_cuda_backend(golden_models());
  const auto scalar = make_cpu_backend(golden_models(), {.name = "scalar", .reuse_work = false});
  std::vector<testing::OwnedProblem> problems;
  std::vector<std::unique_ptr<PlacementSession>> sessions;
  std::vector<CandidateBatch> batches;
  std::vector<std::vector<CandidateResult>> results;
  std::vector<Backend::Request> requests;
  for (std::uint64_t s = 0; s < 7; ++s) {
    problems.push_back(random_problem(s, {.devices = 4}, cuda->embedding_width()));
    sessions.push_back(cuda->start(problems.back()));
    batches.push_back(random_candidates(s, problems.back(), 6, 24));
    results.emplace_back(batches.back().size());
  }
  for (std::size_t s = 0; s < 7; ++s) {
    requests.push_back({sessions[s].get(), &batches[s], results[s]});
  }
  EXPECT_EQ(counted([&] { cuda->place(requests); }), (Counts{3, 3}));
  for (std::size_t s = 0; s < 7; ++s) {
    SCOPED_TRACE(s);
    std::vector<CandidateResult> expected(batches[s].size());
    scalar->start(problems[s])->place(batches[s], expected);
    EXPECT_EQ(results[s], expected);
  }
}

}  // namespace
}  // namespace neuroshard
