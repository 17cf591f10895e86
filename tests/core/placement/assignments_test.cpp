// Which devices pieces went to, as sessions say it, against placements step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stop_token>

#include "core/placement/greedy_placement.h"
#include "core/placement/team_backend.h"
#include "core/plans/shards_cost.h"
#include "every_cpu_backend.h"
#include "owned_problem.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using Assignments = std::optional<std::vector<std::uint32_t>>;
using testing::OwnedProblem;
using testing::random_models;
using testing::repetitions;

OwnedProblem random_problem(std::mt19937_64& random) {
  testing::Pieces drawn;
  const std::size_t pieces = 5 + random() % 30;
  std::uniform_real_distribution<float> value(0.0F, 1.0F);
  std::int64_t size = 0;
  std::int64_t dims = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    drawn.dims.push_back(4 << random() % 6);
    drawn.size_bytes.push_back(static_cast<std::int64_t>(1 + random() % 1000));
    for (int i = 0; i < 32; ++i) drawn.embeddings.push_back(value(random));
    size += drawn.size_bytes.back();
    dims += drawn.dims.back();
  }
  OwnedProblem problem(std::move(drawn));
  problem.devices = 1 + static_cast<int>(random() % 9);
  const double slack = 1.1 + static_cast<double>(random() % 100) / 50.0;
  problem.memory_bytes =
      static_cast<std::int64_t>(slack * static_cast<double>(size)) / problem.devices;
  for (const double scale : {1.0, 1.05, 1.1, 1.25, 1.5, 3.0}) {
    problem.dim_limits.push_back(
        static_cast<std::int64_t>(scale * static_cast<double>(dims) / problem.devices));
  }
  return problem;
}

CandidateBatch random_batch(std::mt19937_64& random, std::size_t pieces) {
  CandidateBatch batch;
  std::vector<std::uint32_t> order(pieces);
  for (std::uint32_t i = 0; i < pieces; ++i) order[i] = i;
  for (int candidate = 0; candidate < 9; ++candidate) {
    std::shuffle(order.begin(), order.end(), random);
    batch.add(order);
  }
  return batch;
}

// The cost of what a session says it has placed, device by device.
double cost_ms(const Backend& backend, const PlacementProblem& problem,
               std::span<const std::uint32_t> pieces, const std::vector<std::uint32_t>& devices) {
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> ids;
  for (std::uint32_t device = 0; device < static_cast<std::uint32_t>(problem.devices); ++device) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (devices[i] == device) ids.push_back(pieces[i]);
    }
    offsets.push_back(static_cast<std::uint32_t>(ids.size()));
  }
  std::vector<SliceMemory> memory;
  for (const std::int64_t bytes : problem.size_bytes) memory.push_back({.weight_bytes = bytes});
  const std::vector<std::int64_t> lookups(problem.pieces(), 0);
  const Task task{.tables = {}, .devices = problem.devices, .memory_bytes = problem.memory_bytes};
  return cost_of_shards(backend, {.task = task,
                                  .embeddings = problem.embeddings,
                                  .columns = problem.dims,
                                  .memory = memory,
                                  .lookups = lookups,
                                  .ids = lookups,
                                  .shards = {offsets, ids}})
      .cost_ms;
}

class AssignmentsOf : public testing::EveryCpuBackend {
 protected:
  // Before and after the session has placed the candidates.
  static void expect_those_of_greedy_placements(const Backend& backend, const CostModels& models) {
    const PackedModels packed(models);
    std::size_t placed = 0;
    std::size_t no_room = 0;
    for (const std::uint64_t seed : testing::Seeds(repetitions(10))) {
      std::mt19937_64 random(seed);
      const OwnedProblem problem = random_problem(random);
      const CandidateBatch batch = random_batch(random, problem.pieces());
      GreedyPlacement alone(kScalarKernels, packed.compute(), problem);
      std::vector<CandidateResult> results(batch.size());
      const auto session = backend.start(problem);
      for (const bool before : {true, false}) {
        for (std::size_t c = 0; c < batch.size(); ++c) {
          for (std::size_t limit = 0; limit < problem.dim_limits.size(); ++limit) {
            const Assignments devices =
                session->assignments(batch.pieces_of(c), static_cast<int>(limit));
            const bool fits = alone.run(batch.pieces_of(c), problem.dim_limits[limit]);
            ASSERT_EQ(devices.has_value(), fits);
            ++(fits ? placed : no_room);
            if (!fits) continue;
            ASSERT_TRUE(std::ranges::equal(*devices, alone.device_of()));
          }
        }
        if (before) session->place(batch, results);
      }
      for (std::size_t c = 0; c < batch.size(); ++c) {
        if (results[c].limit < 0) continue;
        const Assignments devices = session->assignments(batch.pieces_of(c), results[c].limit);
        ASSERT_EQ(cost_ms(backend, problem, batch.pieces_of(c), *devices), results[c].cost_ms);
      }
      EXPECT_EQ(session->counters().greedy_runs, batch.size() * problem.dim_limits.size());
    }
    EXPECT_GT(placed, repetitions(10) * 20);
    EXPECT_GT(no_room, repetitions(10) * 2);
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, AssignmentsOf, ::testing::ValuesIn(cpu_backends()));

TEST_P(AssignmentsOf, ASessionThatRemembers) {
  const CostModels models = random_models(1);
  expect_those_of_greedy_placements(*make_cpu_backend(models, {.name = GetParam()}), models);
}

TEST_P(AssignmentsOf, ASessionThatRemembersNothing) {
  const CostModels models = random_models(2);
  expect_those_of_greedy_placements(
      *make_cpu_backend(models, {.name = GetParam(), .reuse_work = false}), models);
}

TEST_P(AssignmentsOf, ASessionOfATeam) {
  const CostModels models = random_models(3);
  const auto cpu = make_cpu_backend(models, {.name = GetParam()});
  ThreadTeam team(2);
  auto lease = team.try_lease();
  expect_those_of_greedy_placements(TeamBackend(*cpu, *lease), models);
}

TEST(Assignments, AreNoneOnceTheSearchIsStopped) {
  std::mt19937_64 random(1);
  OwnedProblem problem = random_problem(random);
  problem.memory_bytes = 1'000'000;
  const CandidateBatch batch = random_batch(random, problem.pieces());
  for (const bool reuse_work : {false, true}) {
    const auto cpu = make_cpu_backend(random_models(1), {.reuse_work = reuse_work});
    std::stop_source source;
    const StopCondition stop(std::nullopt, source.get_token());
    problem.stop = &stop;
    const auto session = cpu->start(problem);
    EXPECT_TRUE(session->assignments(batch.pieces_of(0), 5).has_value());
    source.request_stop();
    EXPECT_FALSE(session->assignments(batch.pieces_of(0), 5).has_value());
  }
}

}  // namespace
}  // namespace neuroshard
