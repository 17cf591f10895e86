#include "cuda/device/current_device.h"

#include <cuda.h>

#include <map>
#include <mutex>

#include "cuda/device/check.h"

namespace neuroshard::gpu {
namespace {

// The driver's functions, which the runtime finds: programs start without a driver.
struct Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain = nullptr;
  decltype(&cuCtxPushCurrent) push = nullptr;
  decltype(&cuCtxPopCurrent) pop = nullptr;
};

template <typename Function>
cudaError_t find(const char* name, Function& function) {
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;  // The oldest that is supported.
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, nullptr);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, nullptr);
#endif
  function = reinterpret_cast<Function>(found);
  return error == cudaSuccess && found == nullptr ? cudaErrorInsufficientDriver : error;
}

// Errors of the driver have the numbers that they have in the runtime.
cudaError_t runtime_error(CUresult result) { return static_cast<cudaError_t>(result); }

cudaError_t find(Driver& driver) {
  cudaError_t error = find("cuInit", driver.init);
  if (error == cudaSuccess) error = find("cuDevicePrimaryCtxRetain", driver.retain);
  if (error == cudaSuccess) error = find("cuCtxPushCurrent", driver.push);
  if (error == cudaSuccess) error = find("cuCtxPopCurrent", driver.pop);
  return error == cudaSuccess ? runtime_error(driver.init(0)) : error;
}

// Contexts are kept until the process ends, as the runtime keeps them.
class PrimaryContexts {
 public:
  cudaError_t push(int device) {
    const std::lock_guard lock(mutex_);
    if (driver_.pop == nullptr) {
      Driver driver;
      if (const cudaError_t error = find(driver); error != cudaSuccess) return error;
      driver_ = driver;
    }
    CUcontext& context = contexts_[device];
    if (context == nullptr) {
      const cudaError_t error = runtime_error(driver_.retain(&context, device));
      if (error != cudaSuccess) return error;
    }
    return runtime_error(driver_.push(context));
  }
  void pop() {
    const std::lock_guard lock(mutex_);
    CUcontext context = nullptr;
    (void)driver_.pop(&context);
  }

 private:
  std::mutex mutex_;
  Driver driver_;
  std::map<int, CUcontext> contexts_;
};

PrimaryContexts& primary_contexts() {
  // Never destroyed: buffers in static objects may come after it at the end of the program.
  static PrimaryContexts& contexts = *new PrimaryContexts();
  return contexts;
}

}  // namespace

CurrentDevice::CurrentDevice(int device) {
  NEUROSHARD_CUDA_CHECK(primary_contexts().push(device));
  pushed_ = true;
}

CurrentDevice::CurrentDevice(int device, std::nothrow_t) noexcept {
  try {
    pushed_ = primary_contexts().push(device) == cudaSuccess;
  } catch (...) {
    // No memory to note a context: then it was never made, and there is nothing of it to destroy.
  }
}

CurrentDevice::~CurrentDevice() {
  if (pushed_) primary_contexts().pop();
}

int current_device() {
  int device = 0;
  NEUROSHARD_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

}  // namespace neuroshard::gpu
