#include "bench/gpu/device_blas.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {

bool cublas_found() { return false; }

std::string cublas_description() { return "none: nsbench was built without its header"; }

std::unique_ptr<DeviceBlas> make_cublas(cudaStream_t) {
  throw Error("cuBLAS: nsbench was built without its header", ErrorKind::kBackend);
}

}  // namespace neuroshard::bench
