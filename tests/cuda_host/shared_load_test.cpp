// The loads that `nsbench kernels` times, executed on the CPU: that they read what they should.
// Their times mean nothing here.
#include <gmock/gmock.h>

#include <set>

#include "bench/gpu/shared_load_kernel.h"
#include "cuda_host/host_cuda_test.h"

namespace neuroshard::bench {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::SizeIs;

using SharedLoads = testing::HostCudaTest;

TEST_F(SharedLoads, ReadWhatTheyShould) {
  const gpu::Stream stream;
  std::set<std::vector<unsigned>> different;
  for (const SharedLoad& load : shared_loads()) {
    SCOPED_TRACE(load.name);
    const SharedLoadResult result = run_shared_loads(load, 2, 9, stream);
    EXPECT_EQ(result.sums, expected_sums(load, 9));
    EXPECT_NE(result.sums, expected_sums(load, 8));
    EXPECT_THAT(result.cycles, SizeIs(2));
    EXPECT_THAT(result.cycles, Each(Gt(0)));
    different.insert(result.sums);
  }
  EXPECT_EQ(different.size(), shared_loads().size());
  EXPECT_EQ(shared_loads_in_block(9), 16.0 * 16 * 9);
}

}  // namespace
}  // namespace neuroshard::bench
