#include "cuda/cuda_test.h"
#include "cuda_host/host_cuda.h"

namespace neuroshard::testing {

std::optional<std::uint64_t> launches_so_far() { return host_cuda::usage().launches; }

}  // namespace neuroshard::testing
