// The backend's results must not depend on the order in which threads get to run.
#include <gmock/gmock.h>

#include <numeric>

#include "cuda/device/buffers.h"
#include "cuda/operators/fill_random.h"
#include "cuda/random_problems.h"
#include "cuda_host/host_cuda.h"
#include "golden.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using ::host_cuda::Schedule;
using testing::random_candidates;
using testing::random_problem;

struct Order {
  Schedule schedule;
  std::uint64_t seed;
};

class Schedules : public ::testing::TestWithParam<Order> {
 protected:
  void SetUp() override {
    host_cuda::reset({.schedule = GetParam().schedule, .seed = GetParam().seed});
  }
  void TearDown() override { host_cuda::reset(); }

  static void expect_same(const CostModels& models, int devices, int candidates, int pieces) {
    const auto scalar = make_cpu_backend(models, {.name = "scalar", .reuse_work = false});
    const auto cuda = make_cuda_backend(models);
    const auto problem = random_problem(GetParam().seed, {.devices = devices, .pieces = pieces},
                                        cuda->embedding_width());
    const auto batch = random_candidates(GetParam().seed, problem, candidates, pieces);
    std::vector<CandidateResult> expected(batch.size());
    std::vector<CandidateResult> actual(batch.size());
    scalar->start(problem)->place(batch, expected);
    cuda->start(problem)->place(batch, actual);
    EXPECT_EQ(actual, expected);

    std::vector<float> features(50 * kTableFeatures);
    for (std::size_t i = 0; i < features.size(); ++i) {
      features[i] = static_cast<float>(i % 17) / 8.0F;
    }
    std::vector<float> expected_rows(50 * static_cast<std::size_t>(cuda->embedding_width()));
    std::vector<float> actual_rows(expected_rows.size());
    scalar->embed_pieces(features, expected_rows);
    cuda->embed_pieces(features, actual_rows);
    EXPECT_EQ(actual_rows, expected_rows);

    expect_same_scores(models, {.shards = 100, .pieces = 50, .tables = {0, 3, 10, 7}});
  }

  struct Shards {
    int shards = 0;
    int pieces = 0;
    std::vector<int> tables;  ///< Tables of one shard after the other, again and again.
  };

  static void expect_same_scores(const CostModels& models, const Shards& input) {
    const auto scalar = make_cpu_backend(models, {.name = "scalar"});
    const auto cuda = make_cuda_backend(models);
    std::vector<float> rows(static_cast<std::size_t>(input.pieces * cuda->embedding_width()));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i * 29 % 64) / 32.0F;
    std::vector<std::uint32_t> offsets{0};
    std::vector<std::uint32_t> ids;
    for (std::size_t s = 0; s < static_cast<std::size_t>(input.shards); ++s) {
      const auto tables = static_cast<std::size_t>(input.tables[s % input.tables.size()]);
      for (std::size_t k = 0; k < tables; ++k) {
        ids.push_back(
            static_cast<std::uint32_t>((s * 7 + k * 13) % static_cast<std::size_t>(input.pieces)));
      }
      offsets.push_back(static_cast<std::uint32_t>(ids.size()));
    }
    std::vector<float> expected(static_cast<std::size_t>(input.shards));
    std::vector<float> actual(expected.size());
    scalar->score_shards(rows, {offsets, ids}, expected);
    cuda->score_shards(rows, {offsets, ids}, actual);
    EXPECT_EQ(actual, expected);
  }
};

// For the kernel for large batches: some warps of so many multiprocessors get a second tile. Ids
// in quads and not, too many for shared memory, embeddings too.
constexpr int kFewMultiprocessors = 2;
constexpr int kLargeBatch = 1100;
const std::vector<int> kQuadsOfTables = {8};
const std::vector<int> kMixedTables = {0, 3, 10, 7, 1};
const std::vector<int> kManyTables = {2, 0, 1, 2, 3, 3, 1, 1, 900};

INSTANTIATE_TEST_SUITE_P(Orders, Schedules,
                         ::testing::Values(Order{Schedule::kForward, 1},
                                           Order{Schedule::kBackward, 1},
                                           Order{Schedule::kShuffled, 1},
                                           Order{Schedule::kShuffled, 2},
                                           Order{Schedule::kShuffled, 3}));

TEST_P(Schedules, PublishedModels) { expect_same(testing::golden_models(), 4, 5, 24); }

TEST_P(Schedules, AllLimitsInOneWarp) { expect_same(testing::golden_models(), 8, 70, 20); }

TEST_P(Schedules, OtherLayerSizesAndManyDevices) {
  const testing::ModelShape shape{
      .table_network = {24, 48}, .head = {32, 16, 1}, .comm = {32, 16}, .devices = {}};
  expect_same(testing::random_models(3, shape), 40, 3, 60);
}

TEST_P(Schedules, OtherLayerSizesAndFewDevices) {
  const testing::ModelShape shape{
      .table_network = {17, 12}, .head = {24, 1, 16, 8, 1}, .comm = {9, 1, 5}, .devices = {6}};
  expect_same(testing::random_models(4, shape), 6, 30, 30);
}

TEST_P(Schedules, FewCandidatesInThreeBlocksEach) {
  host_cuda::reset({.multiprocessors = 132,
                    .schedule = GetParam().schedule,
                    .seed = GetParam().seed,
                    .resident_blocks = 3});
  expect_same(testing::golden_models(), 4, 12, 25);
}

// Limits that get off wait with a copy of the devices' state in shared memory.
TEST_P(Schedules, ManyDevicesAndAllLimitsInOneWarp) {
  expect_same(testing::random_models(5), 40, 70, 90);
}

// Blocks of a search wait for each other; with one place for them, too, it comes to its end.
void expect_same_searches(const CostModels& models, PlannerOptions options, const Order& order,
                          const std::vector<Task>& tasks) {
  options.algorithm = Algorithm::kPublished;
  options.threads = 1;
  options.backend = "scalar";
  const std::vector<PlanOutcome> expected = Planner(models, options).plan_batch(tasks);
  options.backend = "cuda";
  // A warp for each limit, in two blocks; or one for all of them.
  for (const int multiprocessors : {132, 1}) {
    for (const std::size_t resident : {1U, 3U}) {
      SCOPED_TRACE(std::to_string(multiprocessors) + " " + std::to_string(resident));
      host_cuda::reset({.multiprocessors = multiprocessors,
                        .schedule = order.schedule,
                        .seed = order.seed,
                        .resident_blocks = resident});
      const Planner planner(models, options);
      const std::uint64_t launches = host_cuda::usage().launches;
      const std::vector<PlanOutcome> actual = planner.plan_batch(tasks);
      EXPECT_EQ(host_cuda::usage().launches, launches + 1);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        SCOPED_TRACE(i);
        ASSERT_TRUE(actual[i].has_value() && expected[i].has_value());
        EXPECT_EQ(actual[i]->plan, expected[i]->plan);
        EXPECT_EQ(actual[i]->cost.cost_ms, expected[i]->cost.cost_ms);
        EXPECT_EQ(actual[i]->stats.warning, "");
      }
    }
  }
}

TEST_P(Schedules, WholeBeamSearches) {
  std::vector<Task> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(testing::golden_task("2gpu_dim64", i));
  tasks[1].tables.resize(4);
  tasks[2].tables.assign(40, tasks[2].tables.front());
  PlannerOptions options{
      .search = {.beam_width = 2, .candidates = 2, .max_splits = 3, .grid_steps = 5}};
  expect_same_searches(testing::golden_models(), options, GetParam(), tasks);
}

TEST_P(Schedules, WholeBeamSearchesByOtherLayerSizes) {
  Task task = testing::golden_task("2gpu_dim64", 0);
  task.devices = 3;
  task.tables.resize(8, task.tables.back());
  PlannerOptions options{
      .search = {.beam_width = 2, .candidates = 2, .max_splits = 2, .grid_steps = 3}};
  const testing::ModelShape shape{.table_network = {24, 48}, .head = {32, 16, 1}};
  expect_same_searches(testing::random_models(5, shape), options, GetParam(), {task});
}

// More of them than a warp has lanes.
TEST_P(Schedules, WholeBeamSearchesOnManyDevices) {
  std::vector<Task> tasks{testing::golden_task("2gpu_dim64", 0)};
  tasks[0].tables.resize(8, tasks[0].tables.back());
  tasks[0].devices = 40;
  PlannerOptions options{
      .search = {.beam_width = 2, .candidates = 2, .max_splits = 3, .grid_steps = 5}};
  for (const testing::ModelShape& shape :
       {testing::ModelShape{},
        testing::ModelShape{.table_network = {24, 48}, .head = {32, 16, 1}}}) {
    expect_same_searches(testing::random_models(5, shape), options, GetParam(), tasks);
  }
}

TEST_P(Schedules, CommunicationCosts) {
  for (const testing::ModelShape& shape :
       {testing::ModelShape{.devices = {3, 40}}, testing::ModelShape{.devices = {}}}) {
    const CostModels models = testing::random_models(6, shape);
    const auto scalar = make_cpu_backend(models, {.name = "scalar"});
    const auto cuda = make_cuda_backend(models);
    for (const std::size_t devices : {3U, 40U}) {
      const std::size_t rows = 45;
      std::vector<float> dims(rows * devices);
      std::vector<float> offsets(dims.size());
      for (std::size_t i = 0; i < dims.size(); ++i) {
        dims[i] = static_cast<float>(i * 7 % 500 * 4);
        offsets[i] = static_cast<float>(i * 13 % 50) / 8.0F;
      }
      std::vector<float> expected(dims.size());
      std::vector<float> actual(dims.size());
      scalar->forward_comm(static_cast<int>(devices), dims, offsets, expected);
      cuda->forward_comm(static_cast<int>(devices), dims, offsets, actual);
      EXPECT_EQ(actual, expected);
      scalar->backward_comm(static_cast<int>(devices), dims, expected);
      cuda->backward_comm(static_cast<int>(devices), dims, actual);
      EXPECT_EQ(actual, expected);
    }
  }
}

TEST_P(Schedules, LargeBatches) {
  host_cuda::reset({.multiprocessors = kFewMultiprocessors,
                    .schedule = GetParam().schedule,
                    .seed = GetParam().seed});
  const CostModels& models = testing::golden_models();
  expect_same_scores(models, {kLargeBatch, 50, kQuadsOfTables});
  expect_same_scores(models, {kLargeBatch, 50, kMixedTables});
  expect_same_scores(models, {kLargeBatch, 50, kManyTables});
  expect_same_scores(models, {kLargeBatch, 2000, kMixedTables});
}

// As on GPUs for desktops: embeddings stay in device memory. Then too little for any tile.
TEST_P(Schedules, LargeBatchesWithLittleSharedMemory) {
  for (const std::size_t bytes : {std::size_t{99} << 10, std::size_t{64} << 10}) {
    SCOPED_TRACE(bytes);
    host_cuda::reset({.multiprocessors = kFewMultiprocessors,
                      .shared_bytes_per_block = bytes,
                      .schedule = GetParam().schedule,
                      .seed = GetParam().seed});
    expect_same_scores(testing::golden_models(), {kLargeBatch, 600, kMixedTables});
  }
}

TEST_P(Schedules, RandomNumbers) {
  constexpr std::size_t kCount = 1000;
  gpu::DeviceBuffer numbers;
  numbers.reserve(kCount * sizeof(float));
  const gpu::Stream stream;
  gpu::fill_random(reinterpret_cast<float*>(numbers.data()), kCount, 2.0F, stream.get());
  std::vector<float> values(kCount);
  stream.copy_to_host(reinterpret_cast<std::byte*>(values.data()), numbers.data(),
                      kCount * sizeof(float));
  stream.synchronize();
  EXPECT_THAT(values, ::testing::Each(::testing::AllOf(::testing::Ge(-1.0F), ::testing::Lt(1.0F))));
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), 0.0, 50.0);
}

}  // namespace
}  // namespace neuroshard
