#include "weights/training/worker_team.h"

#include <gtest/gtest.h>

namespace neuroshard::training {
namespace {

TEST(WorkerTeam, RunsEveryTaskOnceInEveryRound) {
  for (const int threads : {1, 2, 3, 7}) {
    SCOPED_TRACE(threads);
    WorkerTeam team(threads);
    ASSERT_EQ(team.workers(), static_cast<std::size_t>(threads));
    for (std::size_t tasks = 0; tasks < 300; ++tasks) {
      std::vector<int> runs(tasks, 0);
      std::vector<std::size_t> by(tasks, 0);
      team.run(tasks, [&](std::size_t task, std::size_t worker) {
        ++runs[task];
        by[task] = worker;
      });
      ASSERT_EQ(runs, std::vector<int>(tasks, 1));
      for (const std::size_t worker : by) ASSERT_LT(worker, team.workers());
    }
  }
}

}  // namespace
}  // namespace neuroshard::training
