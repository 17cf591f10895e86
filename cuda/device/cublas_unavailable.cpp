#include "cuda/device/device_blas.h"
#include "neuroshard/error.h"

namespace neuroshard::gpu {

bool cublas_found() { return false; }

std::string cublas_description() { return "none: this build had no cublas_v2.h"; }

std::unique_ptr<DeviceBlas> make_cublas(cudaStream_t) {
  throw Error("cuBLAS: this build had no cublas_v2.h; configure it with the whole CUDA toolkit",
              ErrorKind::kBackend);
}

}  // namespace neuroshard::gpu
