// Nothing that was used on a device is left there.
#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include "cuda/cuda_test.h"
#include "cuda/random_problems.h"
#include "golden.h"
#include "neuroshard/planner.h"

namespace neuroshard {
namespace {

using testing::golden_models;
using testing::random_candidates;
using testing::random_problem;

using DeviceMemory = testing::CudaTest;

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return free;
}

// Every operation of a backend, and sessions that end before and after it was used.
void use_a_backend() {
  const auto cuda = make_cuda_backend(golden_models());
  const auto width = static_cast<std::size_t>(cuda->embedding_width());
  std::vector<float> embeddings(100 * width);
  cuda->embed_pieces(std::vector<float>(100 * kTableFeatures, 1.0F), embeddings);
  const std::uint32_t offsets[] = {0, 3};
  const std::uint32_t ids[] = {1, 2, 3};
  float cost_ms = 0.0F;
  cuda->score_shards(embeddings, {offsets, ids}, {&cost_ms, 1});
  const auto problem = random_problem(1, {.devices = 4}, cuda->embedding_width());
  const auto unused = cuda->start(problem);
  const auto session = cuda->start(problem);
  const auto batch = random_candidates(1, problem, 8, 24);
  std::vector<CandidateResult> results(batch.size());
  session->place(batch, results);
  EXPECT_GE(results[0].limit, 0);
}

TEST_F(DeviceMemory, IsGivenBackByEveryBackend) {
  // The first uses load kernels and grow what the driver keeps for itself.
  for (int i = 0; i < 3; ++i) use_a_backend();
  const std::size_t before = free_bytes();
  const int rounds = testing::runs_on_gpu() ? 60 : 5;
  for (int i = 0; i < rounds; ++i) use_a_backend();
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DeviceMemory, DoesNotGrowUnderASteadyLoad) {
  PlannerOptions options{
      .search = {.beam_width = 1, .candidates = 2, .max_splits = 2, .grid_steps = 3},
      .backend = "cuda",
      .threads = 1};
  const Planner planner(golden_models(), options);
  const bool gpu = testing::runs_on_gpu();
  const std::vector<Task> tasks(gpu ? 200 : 2, testing::golden_task("2gpu_dim128", 0));
  for (int i = 0; i < (gpu ? 3 : 2); ++i) (void)planner.plan_batch(tasks);
  const std::size_t before = free_bytes();
  for (int i = 0; i < (gpu ? 5 : 2); ++i) (void)planner.plan_batch(tasks);
  EXPECT_EQ(free_bytes(), before);
}

}  // namespace
}  // namespace neuroshard
