// Tests what blocks of search_beams keep in shared memory.
#include <gtest/gtest.h>

#include "core/kernels/cpu_kernels.h"
#include "core/placement/cpu_backend.h"
#include "cuda/backend/beam_launches.h"
#include "cuda/backend/device_context.h"
#include "cuda/backend/placement_launches.h"
#include "cuda/placement/place_candidates.h"
#include "cuda_host/host_cuda_test.h"
#include "golden.h"
#include "random_tasks.h"
#include "search/published_search.h"

namespace neuroshard {
namespace {

using BeamShapes = testing::HostCudaTest;

// docs/kernels.md says of a plan for 4 devices: two blocks of a multiprocessor have room for a desk
// and the weights of both networks.
TEST_F(BeamShapes, SinglePlansHaveADeskAndTheNetworksWeights) {
  host_cuda::reset({.multiprocessors = 132});
  const CostModels& models = testing::golden_models();
  const CpuBackend cpu(select_cpu_kernels("scalar"), models, true);
  const gpu::DeviceContext context(0, models, cpu.embedding_width());
  SearchOptions options;
  options.memory_splits = false;
  int large = 0;
  for (int i = 0; i < 100; ++i) {
    const Task task = testing::golden_task("4gpu_dim128", i);
    const PieceCatalog catalog(cpu, task);
    const PublishedSearch search(cpu, task, options, catalog);
    ASSERT_EQ(search.beams().size(), 1U);
    const gpu::BeamSizes sizes = gpu::sizes_of(search.beams().front());
    const std::size_t pieces = search.problem().dims.size();
    SCOPED_TRACE(pieces);
    const gpu::BeamShape shape =
        gpu::choose_beam_shape(context, sizes, pieces, sizes.most_candidates(), task.devices,
                               static_cast<int>(search.problem().dim_limits.size()), 128);
    EXPECT_GT(shape.desk.total, 0U);
    EXPECT_TRUE(shape.placement.rows_in_shared);
    EXPECT_EQ(shape.placement.slots, 1);
    if (shape.placement.comm_copies_bytes == 0) {
      ++large;
      EXPECT_GT(shape.desk.total, 14'000U);
      EXPECT_GT(shape.placement.comm_weight_bytes, 0);
    }
    const std::size_t block =
        gpu::placement_shared_bytes(shape.placement) + sizeof(gpu::BeamControl) + shape.desk.total;
    EXPECT_LE(2 * (block + 1024), context.shared_bytes() + 1024);
  }
  EXPECT_LE(large, 5);
}

// A row of the communication network takes nearly all of a block's memory: a desk would have no
// room beside it.
TEST_F(BeamShapes, WhereThereIsNoRoomThereIsNoDesk) {
  host_cuda::reset({.multiprocessors = 132});
  const gpu::BeamSizes sizes{.slices = 40, .width = 3, .candidates = 10, .max_splits = 10};
  int without = 0;
  int with = 0;
  for (int width = 26'000; width <= 28'760; width += 40) {
    SCOPED_TRACE(width);
    const CostModels models = testing::random_models(1, {.comm = {width}, .devices = {2}});
    const gpu::DeviceContext context(0, models, 32);
    const gpu::BeamShape shape =
        gpu::choose_beam_shape(context, sizes, 100, sizes.most_candidates(), 2, 1, width);
    (shape.desk.total > 0 ? with : without) += 1;
    EXPECT_LE(
        gpu::placement_shared_bytes(shape.placement) + sizeof(gpu::BeamControl) + shape.desk.total,
        context.shared_bytes());
  }
  EXPECT_GT(without, 0);
  EXPECT_GT(with, 0);
}

}  // namespace
}  // namespace neuroshard
