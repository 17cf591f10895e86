// Placements that share their work between limits, against each placement step by step.
#include "core/placement/grid_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stop_token>
#include <utility>

#include "core/placement/greedy_placement.h"
#include "owned_problem.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using Outcome = GridPlacement::Outcome;
using testing::OwnedProblem;
using testing::random_models;
using testing::repetitions;

constexpr int kWidth = 32;

// From ample memory to too little; some pieces are equal, so that costs tie.
OwnedProblem random_problem(std::mt19937_64& random, int devices, std::size_t pieces) {
  testing::Pieces drawn;
  std::uniform_real_distribution<float> value(0.0F, 1.0F);
  std::int64_t size = 0;
  std::int64_t dims = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const bool again = piece > 0 && random() % 3 == 0;
    drawn.dims.push_back(again ? drawn.dims.back() : 4 << random() % 6);
    drawn.size_bytes.push_back(again ? drawn.size_bytes.back()
                                     : static_cast<std::int64_t>(1 + random() % 1000));
    for (int i = 0; i < kWidth; ++i) {
      const std::size_t same = drawn.embeddings.size() - kWidth;
      drawn.embeddings.push_back(again ? drawn.embeddings[same] : value(random));
    }
    size += drawn.size_bytes.back();
    dims += drawn.dims.back();
  }
  OwnedProblem problem(std::move(drawn));
  problem.devices = devices;
  const double slack = 0.9 + static_cast<double>(random() % 100) / 50.0;
  problem.memory_bytes = 1 + static_cast<std::int64_t>(slack * static_cast<double>(size) / devices);
  for (const double scale : {0.8, 1.0, 1.05, 1.1, 1.25, 1.5, 1.5, 3.0}) {
    problem.dim_limits.push_back(
        static_cast<std::int64_t>(scale * static_cast<double>(dims) / devices));
  }
  return problem;
}

class GridPlacementOfEveryCpu : public ::testing::TestWithParam<const CpuKernels*> {
 protected:
  void SetUp() override {
    if (!GetParam()->supported()) GTEST_SKIP() << "this CPU cannot run it";
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, GridPlacementOfEveryCpu,
                         ::testing::ValuesIn(all_cpu_kernels().begin(), all_cpu_kernels().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(GridPlacementOfEveryCpu, PlaceUnderAllLimitsAsUnderEachAlone) {
  const PackedModels models(random_models(1));
  int placed = 0;
  int no_room = 0;
  int unchanged = 0;
  for (const std::uint64_t seed : testing::Seeds(repetitions(200))) {
    std::mt19937_64 random(seed);
    const int devices = 1 + static_cast<int>(random() % 20);
    const std::size_t pieces = 1 + random() % 60;
    const OwnedProblem problem = random_problem(random, devices, pieces);
    ShardStates states(*GetParam(), models.compute(), problem);
    GridPlacement grid(*GetParam(), states, problem);
    GreedyPlacement alone(*GetParam(), models.compute(), problem);
    std::vector<std::uint32_t> order;
    for (int candidate = 0; candidate < 3; ++candidate) {
      order.resize(1 + random() % (2 * pieces));
      for (std::uint32_t& piece : order) piece = static_cast<std::uint32_t>(random() % pieces);
      grid.start(order);
      Outcome last = Outcome::kNoRoom;
      for (std::size_t step = problem.dim_limits.size(); step-- > 0;) {
        SCOPED_TRACE(step);
        const std::int64_t limit = problem.dim_limits[step];
        const Outcome outcome = grid.run(limit);
        if (outcome == Outcome::kUnchanged) {
          ++unchanged;
        } else {
          last = outcome;
        }
        ASSERT_EQ(last == Outcome::kPlaced, alone.run(order, limit));
        if (last != Outcome::kPlaced) {
          ++no_room;
          continue;
        }
        ++placed;
        ASSERT_TRUE(std::ranges::equal(grid.devices(), alone.device_of()));
        for (std::size_t d = 0; d < static_cast<std::size_t>(devices); ++d) {
          ASSERT_EQ(static_cast<float>(grid.dim_sums()[d]), alone.dim_sums()[d]);
          const bool empty = grid.states()[d] == ShardStates::kEmpty;
          ASSERT_EQ(empty, grid.dim_sums()[d] == 0);
          ASSERT_EQ(grid.cost_ms()[d], empty ? 0.0F : alone.compute_ms()[d]);
        }
      }
    }
  }
  EXPECT_GT(placed, 50);
  EXPECT_GT(no_room, 50);
  EXPECT_GT(unchanged, 50);
}

TEST(GridPlacement, PlacesNothingWithoutAsking) {
  const CpuKernels& kernels = select_cpu_kernels("auto");
  const PackedModels models(random_models(1));
  std::mt19937_64 random(1);
  const OwnedProblem problem = random_problem(random, 4, 20);
  ShardStates states(kernels, models.compute(), problem);
  GridPlacement grid(kernels, states, problem);
  grid.start({});
  EXPECT_EQ(grid.run(100'000), Outcome::kPlaced);
  EXPECT_EQ(grid.run(10), Outcome::kUnchanged);
  EXPECT_TRUE(grid.devices().empty());
}

TEST(GridPlacement, StopsWhenItIsAskedTo) {
  const CpuKernels& kernels = select_cpu_kernels("auto");
  const PackedModels models(random_models(1));
  std::mt19937_64 random(1);
  OwnedProblem problem = random_problem(random, 4, 20);
  problem.memory_bytes = 1'000'000;
  std::stop_source source;
  const StopCondition stop(std::nullopt, source.get_token());
  problem.stop = &stop;
  ShardStates states(kernels, models.compute(), problem);
  GridPlacement grid(kernels, states, problem);
  std::vector<std::uint32_t> order(20);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  grid.start(order);
  EXPECT_EQ(grid.run(100'000), Outcome::kPlaced);
  source.request_stop();
  grid.start(order);
  EXPECT_EQ(grid.run(100'000), Outcome::kStopped);
}

}  // namespace
}  // namespace neuroshard
