#include "neuroshard/cuda_training.h"

#include "cuda/device/buffers.h"
#include "cuda/device/current_device.h"
#include "cuda/device/device_blas.h"
#include "cuda/training/cuda_trainee.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "weights/training/training_backend.h"

namespace neuroshard {
namespace {

class CudaTraining final : public TrainingBackend {
 public:
  explicit CudaTraining(int device) : device_(device) {
    const gpu::CurrentDevice current(device);
    const gpu::Stream stream;
    (void)gpu::make_cublas(stream.get());
  }

  [[nodiscard]] std::unique_ptr<training::Trainee> take_over(training::CpuTrainee& host,
                                                             std::size_t batch) const override {
    return std::make_unique<gpu::CudaTrainee>(device_, host, batch);
  }

 private:
  int device_;
};

}  // namespace

std::shared_ptr<const TrainingBackend> make_cuda_training() {
  for (const CudaDevice& device : cuda_devices()) {
    if (device.usable) return std::make_shared<const CudaTraining>(device.index);
  }
  throw Error(
      "no CUDA device can be used; check nvidia-smi and CUDA_VISIBLE_DEVICES, or train with "
      "--backend cpu",
      ErrorKind::kBackend);
}

}  // namespace neuroshard
