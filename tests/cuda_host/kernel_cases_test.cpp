// The cases of `nsbench kernels`, executed on the CPU: each gives the CPU's results and can be
// launched again and again. Their times mean nothing here.
#include "bench/gpu/kernel_cases.h"

#include <gmock/gmock.h>

#include <set>

#include "bench/gpu/case_times.h"
#include "bench/inputs/random_comm.h"
#include "cuda_host/host_cuda.h"
#include "golden.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

TEST(KernelCases, GiveTheResultsOfTheCpu) {
  host_cuda::reset({.multiprocessors = 1});
  {
    CostModels models = testing::golden_models();
    complete_with_random_comm(models, 128);
    const KernelSizes small{.shards = {70, NEUROSHARD_SANITIZED ? 130 : 600},
                            .pieces = {3, 70},
                            .placements = {1, 9},
                            .task_sets = {"2gpu_dim128"},
                            .tasks = 2,
                            .large_tables = 200};
    const auto context = std::make_shared<const gpu::DeviceContext>(0, models, 32);
    const std::vector<KernelCase> cases =
        kernel_cases(models, GoldenFolder(testing::golden_path("")), context, small);
    std::set<std::string> kernels;
    for (const KernelCase& one : cases) {
      SCOPED_TRACE(one.kernel + ", " + one.input);
      kernels.insert(one.kernel);
      EXPECT_NO_THROW(one.check());
      EXPECT_GE(one.run(), 0.0);
      EXPECT_GT(one.items, 0.0);
      EXPECT_EQ(one.multiply_adds > 0.0, one.kernel != "nothing");
    }
    EXPECT_THAT(kernels,
                ::testing::ElementsAre("comm_costs", "embed_pieces", "nothing", "place_candidates",
                                       "score_shards, cublas", "score_shards, cublas_blocks",
                                       "score_shards, cuda_gemm", "score_shards, cuda_per_warp",
                                       "search_beams"));
    KernelSizes few = small;
    few.only = "comm";
    EXPECT_EQ(kernel_cases(models, GoldenFolder(testing::golden_path("")), context, few).size(),
              5U);
    few.only = "nonsense";
    EXPECT_THROW((void)kernel_cases(models, GoldenFolder(testing::golden_path("")), context, few),
                 Error);
    // The means that are reported besides are not taken for another case's times.
    for (const CaseTimes& times : time_cases(cases, 2, 1e-9)) {
      EXPECT_THAT(times.seconds, ::testing::SizeIs(2));
      EXPECT_GT(times.runs.size(), 2U);
    }
  }
  EXPECT_EQ(host_cuda::usage().device_allocations, 0U);
  EXPECT_EQ(host_cuda::usage().streams, 0U);
  host_cuda::reset();
}

}  // namespace
}  // namespace neuroshard::bench
