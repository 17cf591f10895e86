// Chains of annealing on CUDA against anneal() on the CPU: the same plans, to the last bit of their
// cost, by the same numbers of evaluations.
#include <gmock/gmock.h>

#include "cuda/cuda_test.h"
#include "golden.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/improvement/annealing.h"
#include "search/random_layouts.h"

namespace neuroshard {

// For messages of GoogleTest.
static void PrintTo(const Annealed& annealed, std::ostream* out) {
  *out << annealed.layout.size() << " slices, " << annealed.cost_ms << " ms, " << annealed.edits
       << " edits, " << annealed.head_evaluations << " heads, " << annealed.comm_evaluations
       << " communication costs";
}

namespace {

using testing::CatalogedTask;
using testing::random_layout;
using testing::random_models;
using testing::random_task;
using testing::repetitions;

using AnnealingChains = testing::CudaTest;

const StopCondition kNever;

// All kinds of chains of one task, from different plans, in one launch. Returns how many ran.
std::size_t expect_same(const CostModels& models, const Task& listed, std::uint64_t seed,
                        std::uint64_t steps, bool equal_widths = false) {
  const CpuBackend cpu = testing::cpu_backend_of(models);
  const auto cuda = make_cuda_backend(models);
  const CatalogedTask cataloged(cpu, listed);
  const auto problem = annealing_problem(*cuda, cataloged.catalog, cataloged.task, equal_widths);
  if (!problem || !cuda->can_anneal(*problem)) return 0;
  std::mt19937_64 random(seed);
  std::vector<Layout> starts;
  std::vector<AnnealingOptions> options;
  for (std::size_t i = 0; i < 4; ++i) {
    Layout& start =
        starts.emplace_back(random_layout(cataloged, 0.7 * static_cast<double>(i), random));
    if (equal_widths) equalize_widths(cataloged.catalog, start);
    options.push_back({.steps = steps + i,
                       .stream = seed + i,
                       .hottest = i == 3 ? 0.1 : 3e-3,
                       .halves = i % 2 == 0 ? Halves::kJoined : Halves::kKept,
                       .soften_ids = i == 1,
                       .equal_widths = equal_widths});
  }
  std::vector<AnnealingChain> chains;
  std::vector<std::optional<Annealed>> outcomes(starts.size());
  std::vector<Backend::AnnealingRequest> requests;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    chains.push_back(annealing_chain(starts[i], options[i]));
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    requests.push_back({&*problem, &chains[i], &outcomes[i]});
  }
  cuda->anneal(requests);
  std::size_t ran = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    SCOPED_TRACE("chain " + std::to_string(i));
    if (!outcomes[i]) continue;
    EXPECT_EQ(*outcomes[i],
              anneal(cpu, cataloged.catalog, cataloged.task, starts[i], options[i], kNever));
    ++ran;
  }
  return ran;
}

std::uint64_t steps_of_test() { return testing::runs_on_gpu() ? 20000 : 150; }

TEST_F(AnnealingChains, BuiltinModels) {
  std::size_t ran = 0;
  const std::uint64_t tasks = repetitions(testing::runs_on_gpu() ? 300 : 24);
  for (std::uint64_t seed = 0; seed < tasks; ++seed) {
    SCOPED_TRACE(seed);
    // Some chains meet with later starts than the networks know.
    ran += expect_same(
        seed % 3 == 2 ? testing::with_offsets_up_to(builtin_weights(), 0.01) : builtin_weights(),
        random_task(seed), seed, steps_of_test(), /*equal_widths=*/seed % 5 == 4);
  }
  EXPECT_GE(ran, 2 * tasks);
}

// Networks of an even number of layers, of one, and heads of other sizes.
TEST_F(AnnealingChains, OtherLayerSizes) {
  const testing::ModelShape shapes[] = {
      {.comm = {24}},
      {.table_network = {24, 48}, .head = {32, 16, 1}, .comm = {}},
      {.table_network = {17, 12}, .head = {24, 1, 16, 8, 1}, .comm = {9, 5}, .any_batch = true}};
  std::size_t ran = 0;
  for (const testing::ModelShape& shape : shapes) {
    const CostModels models = random_models(31, shape);
    for (std::uint64_t seed = 40; seed < 40 + repetitions(6); ++seed) {
      SCOPED_TRACE(seed);
      ran += expect_same(models, random_task(seed), seed, steps_of_test());
    }
  }
  EXPECT_GT(ran, 0U);
}

TEST_F(AnnealingChains, DenseCommunicationNetworks) {
  std::size_t ran = 0;
  for (std::uint64_t seed = 60; seed < 60 + repetitions(10); ++seed) {
    SCOPED_TRACE(seed);
    const CostModels models = random_models(32, {.devices = {2, 4, 8, 16}});
    ran += expect_same(seed % 2 == 0 ? models : testing::with_offsets_up_to(models, 0.01),
                       random_task(seed), seed, steps_of_test());
  }
  ran += expect_same(testing::golden_models(), testing::golden_task("4gpu_dim128", 0), 5,
                     steps_of_test());
  EXPECT_GT(ran, 0U);
}

// Beyond 16 devices costs are estimates between synchronizations; beyond 32, a lane has several.
TEST_F(AnnealingChains, ManyDevices) {
  std::size_t ran = 0;
  for (const int devices : {6, 7, 24, 44, 136}) {
    for (std::uint64_t seed = 80; seed < 80 + repetitions(2); ++seed) {
      SCOPED_TRACE(std::to_string(devices) + " " + std::to_string(seed));
      Task task = random_task(seed);
      task.devices = devices;
      while (task.tables.size() < 30) task.tables.push_back(task.tables[task.tables.size() / 2]);
      ran += expect_same(builtin_weights(), task, seed, steps_of_test());
    }
  }
  EXPECT_GT(ran, 0U);
}

TEST_F(AnnealingChains, RefusesWhatOnlyTheCpuKnows) {
  const auto cuda = make_cuda_backend(builtin_weights());
  const CpuBackend cpu = testing::cpu_backend_of(builtin_weights());
  Task task = random_task(2);
  task.devices = 4;
  task.device_list.assign(4, {.memory_bytes = task.memory_bytes});
  task.device_list.front().speed = 2.0;
  const CatalogedTask of_speeds(cpu, task);
  EXPECT_FALSE(annealing_problem(*cuda, of_speeds.catalog, of_speeds.task, false));
  task.device_list.clear();
  task.tables.front().rules = {.devices = {1}};
  const CatalogedTask of_rules(cpu, task);
  EXPECT_FALSE(annealing_problem(*cuda, of_rules.catalog, of_rules.task, false));
  EXPECT_FALSE(cpu.can_anneal({}));
}

}  // namespace
}  // namespace neuroshard
