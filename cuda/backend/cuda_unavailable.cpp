// Takes the place of the CUDA backend in a library built without it.
#include "neuroshard/cuda_backend.h"
#include "neuroshard/cuda_training.h"
#include "neuroshard/error.h"

namespace neuroshard {

bool cuda_backend_built() noexcept { return false; }

std::vector<CudaDevice> cuda_devices() { return {}; }

std::unique_ptr<Backend> make_cuda_backend(const CostModels& /*models*/,
                                           const CudaOptions& /*options*/) {
  throw Error(
      "cuda backend: this library was built without CUDA; configure it with NEUROSHARD_CUDA=ON and "
      "nvcc on PATH, or choose the backend 'auto'",
      ErrorKind::kBackend);
}

std::shared_ptr<const TrainingBackend> make_cuda_training() {
  throw Error(
      "this build has no CUDA; configure it with NEUROSHARD_CUDA=ON and nvcc on PATH, or train "
      "with --backend cpu",
      ErrorKind::kBackend);
}

}  // namespace neuroshard
