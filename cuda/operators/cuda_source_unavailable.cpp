// Takes the place of the measuring operator in a library built without CUDA.
#include "cuda/operators/cuda_source.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

[[noreturn]] void fail() {
  throw Error(
      "this build has no CUDA; configure it with NEUROSHARD_CUDA=ON and nvcc on PATH, or collect "
      "with --backend cpu or analytic",
      ErrorKind::kBackend);
}

}  // namespace

std::unique_ptr<CudaSource> make_cuda_source(std::span<const Table> /*tables*/,
                                             StreamStore& /*streams*/, std::size_t /*base_tables*/,
                                             int /*device*/, const CudaSourceOptions& /*options*/) {
  fail();
}

std::vector<int> devices_to_measure(std::span<const int> /*wanted*/) { fail(); }

}  // namespace neuroshard
