// Counts allocations. A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include "core/placement/cpu_backend.h"
#include "golden.h"
#include "neuroshard/planner.h"
#include "search/counted_allocations.h"
#include "search/published_search.h"
#include "search/split_state.h"

namespace neuroshard {
namespace {

using testing::allocations;
using testing::golden_models;
using testing::golden_task;

TEST(Allocation, ASessionThatHasSeenSuchATaskAllocatesNothing) {
  const CpuBackend backend(select_cpu_kernels("auto"), golden_models(), /*reuse_work=*/true);
  const Task task = golden_task("4gpu_dim128", 0);
  const PieceCatalog catalog(backend, task);
  const SplitState start(catalog, task.tables.size());
  CandidateBatch batch;
  for (const std::uint32_t slice : split_candidates(catalog, start, 10)) {
    start.append_child_pieces(catalog, slice, batch.piece_ids);
    batch.offsets.push_back(static_cast<std::uint32_t>(batch.piece_ids.size()));
  }
  ASSERT_GT(batch.size(), 5U);
  const PlacementProblem problem{.devices = task.devices,
                                 .memory_bytes = task.memory_bytes,
                                 .embeddings = catalog.embeddings(),
                                 .dims = catalog.columns(),
                                 .size_bytes = catalog.sizes_bytes(),
                                 .dim_limits = grid_dim_limits(task, 11)};
  std::vector<CandidateResult> first(batch.size());
  backend.start(problem)->place(batch, first);

  const auto session = backend.start(problem);  // The first session, recycled.
  std::vector<CandidateResult> second(batch.size());
  const std::size_t before = allocations();
  session->place(batch, second);
  EXPECT_EQ(allocations() - before, 0U);
  EXPECT_EQ(first, second);
}

// 4,851 placements, some sixty states of column splits on each of ten levels.
TEST(Allocation, APlanAllocatesForStatesAndNotForPlacements) {
  for (const int threads : {1, 2}) {
    PlannerOptions options{.algorithm = Algorithm::kPublished, .threads = threads};
    const Planner planner(golden_models(), options);
    const Task task = golden_task("4gpu_dim128", 0);
    (void)planner.plan(task);
    const std::size_t before = allocations();
    const PlanResult result = planner.plan(task);
    EXPECT_LT(allocations() - before, 800U) << threads;
    EXPECT_GT(result.stats.placements, 4000U);
  }
}

}  // namespace
}  // namespace neuroshard
