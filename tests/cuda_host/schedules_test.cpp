// The backend's results must not depend on the order in which threads get to run.
#include <gmock/gmock.h>

#include "cuda/random_problems.h"
#include "cuda_host/host_cuda.h"
#include "golden.h"
#include "neuroshard/cuda_backend.h"
#include "random_tasks.h"

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

    // Enough shards for the tiled kernel.
    std::vector<std::uint32_t> offsets{0};
    std::vector<std::uint32_t> ids;
    for (std::uint32_t s = 0; s < 2100; ++s) {
      for (std::uint32_t k = 0; k < s % 11; ++k) ids.push_back((s * 7 + k * 13) % 50);
      offsets.push_back(static_cast<std::uint32_t>(ids.size()));
    }
    std::vector<float> expected_costs(2100);
    std::vector<float> actual_costs(2100);
    scalar->score_shards(expected_rows, {offsets, ids}, expected_costs);
    cuda->score_shards(expected_rows, {offsets, ids}, actual_costs);
    EXPECT_EQ(actual_costs, expected_costs);
  }
};

INSTANTIATE_TEST_SUITE_P(Orders, Schedules,
                         ::testing::Values(Order{Schedule::kBackward, 1},
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

}  // namespace
}  // namespace neuroshard
