#include "weights/measurement/rank_iteration.h"

#include <gtest/gtest.h>

#include "repetitions.h"
#include "weights/collection/ranks/local_group.h"
#include "weights/measurement/training_case.h"

namespace neuroshard::ranks {
namespace {

void train_locally(const Plan& plan, int devices = 4, int threads = 1) {
  TrainingCase test(devices, plan);
  run_local_ranks(devices, [&](RankGroup& group) { train_and_check(group, test, threads); });
}

// Tables 0 and on in `slices`, the others whole on device 0.
Plan plan_with(std::vector<TableSlice> slices, std::vector<std::vector<int>> shards,
               std::vector<int> replicas = {}) {
  Plan plan{std::move(slices), std::move(shards), std::move(replicas)};
  plan.shards.resize(4);
  const Task task = TrainingCase::small_task(4);
  std::vector<bool> placed(task.tables.size());
  for (const TableSlice& slice : plan.slices) placed[static_cast<std::size_t>(slice.table)] = true;
  for (const int table : plan.replicas) placed[static_cast<std::size_t>(table)] = true;
  for (const TableSlice& slice : whole_tables(task)) {
    if (placed[static_cast<std::size_t>(slice.table)]) continue;
    plan.shards[0].push_back(static_cast<int>(plan.slices.size()));
    plan.slices.push_back(slice);
  }
  return plan;
}

TEST(RankIteration, TrainsWholeTablesAsAnUnshardedOperatorDoes) {
  train_locally(plan_with({}, {}));
  const Task task = TrainingCase::small_task(4);
  train_locally({whole_tables(task), {{1}, {0, 3}, {}, {2, 5, 4}}});
}

TEST(RankIteration, TrainsColumnsOfAnyWidth) {
  train_locally(
      plan_with({{0, 0, 12, 0, 300}, {0, 12, 16, 0, 300}, {0, 28, 4, 0, 300}}, {{}, {2, 0}, {1}}));
}

TEST(RankIteration, TrainsRowBlocks) {
  // Two of one table on one device, too.
  train_locally(plan_with({{0, 0, 32, 0, 100}, {0, 0, 32, 100, 5}, {0, 0, 32, 105, 195}},
                          {{}, {0, 2}, {}, {1}}));
}

TEST(RankIteration, TrainsGrids) {
  train_locally(plan_with(
      {{0, 0, 20, 0, 150}, {0, 0, 20, 150, 150}, {0, 20, 12, 0, 150}, {0, 20, 12, 150, 150}},
      {{}, {0, 3}, {1}, {2}}));
}

TEST(RankIteration, TrainsReplicas) {
  train_locally(plan_with({}, {}, {0, 2}));     // With dense gradients.
  train_locally(plan_with({}, {}, {1, 3, 5}));  // With those of touched rows.
  train_locally(plan_with({}, {}, {0, 3, 5}));
  train_locally({{}, {{}, {}, {}, {}}, {0, 1, 2, 3, 4, 5}});  // Nothing else.
}

TEST(RankIteration, TrainsRandomPlansOverAnyNumberOfRanks) {
  for (std::uint64_t seed = 0; seed < neuroshard::testing::repetitions(40); ++seed) {
    SCOPED_TRACE(seed);
    const int devices = std::array{1, 2, 3, 4, 7}[seed % 5];
    train_locally(random_plan(devices, seed), devices, 1 + static_cast<int>(seed % 2));
  }
}

TEST(RankIteration, TimesWhatAPlanHasAndNothingElse) {
  const auto times_of = [](const Plan& plan) {
    TrainingCase test(4, plan);
    PhaseTimes times;
    run_local_ranks(4, [&](RankGroup& group) {
      ThreadTeam team(1);
      const auto exchange = make_host_exchange(group);
      const PlanRun run{test.task, test.plan, test.streams, 0.0F};
      RankIteration iteration(group, *exchange, team, run,
                              device_weights(team, run, static_cast<std::size_t>(group.rank())));
      const PhaseTimes mine = iteration.run();
      if (group.rank() == 0) times = mine;
    });
    return times;
  };
  const PhaseTimes slices = times_of(plan_with({}, {}));
  for (const Phase phase : {Phase::kIds, Phase::kForward, Phase::kBackward, Phase::kForwardCompute,
                            Phase::kBackwardCompute}) {
    EXPECT_GT(slices[phase], 0.0);
  }
  EXPECT_EQ(slices[Phase::kAllReduce], 0.0);
  const PhaseTimes replicas = times_of({{}, {{}, {}, {}, {}}, {0, 1, 2, 3, 4, 5}});
  for (const Phase phase : {Phase::kIds, Phase::kForward, Phase::kBackward}) {
    EXPECT_EQ(replicas[phase], 0.0);
  }
  EXPECT_GT(replicas[Phase::kAllReduce], 0.0);
  EXPECT_GT(replicas.compute_ms(), 0.0);
  EXPECT_DOUBLE_EQ(replicas.total_ms(), replicas.compute_ms() + replicas[Phase::kAllReduce]);
}

}  // namespace
}  // namespace neuroshard::ranks
