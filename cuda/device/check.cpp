#include "cuda/device/check.h"

#include <string>
#include <string_view>

#include "neuroshard/error.h"

namespace neuroshard::gpu {
namespace {

std::string_view remedy(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "free device memory, or give fewer tasks (or tables) at once";
    case cudaErrorNoDevice:
      return "check nvidia-smi and CUDA_VISIBLE_DEVICES, or use a CPU backend";
    case cudaErrorInsufficientDriver:
      return "update the NVIDIA driver, or use a CPU backend";
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
      return "the device cannot do this for these models or tasks; use a CPU backend";
    case cudaErrorNoKernelImageForDevice:
      return "build for this device (CMAKE_CUDA_ARCHITECTURES), or use a CPU backend";
    default:
      return "the device cannot be used again in this process; use a CPU backend";
  }
}

// As the file is named in this repository; where it was built is nobody's business.
std::string_view place(std::string_view file) {
  const std::size_t folder = file.rfind("cuda/");
  return folder == std::string_view::npos ? file : file.substr(folder);
}

}  // namespace

void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::string message = "cuda backend: ";
  message.append(place(file)).append(":").append(std::to_string(line)).append(": ").append(call);
  message.append(": ").append(cudaGetErrorString(error));
  message.append(" (").append(cudaGetErrorName(error)).append("); ").append(remedy(error));
  // Errors of a call alone stay behind otherwise and would be blamed on the next launch.
  (void)cudaGetLastError();
  throw Error(message, ErrorKind::kBackend);
}

void require_shared_memory(const char* what, std::size_t bytes, std::size_t available) {
  if (bytes <= available) return;
  throw Error(std::string("cuda backend: ") + what + " takes " + std::to_string(bytes) +
                  " bytes of shared memory, but a block has " + std::to_string(available) +
                  "; use a CPU backend",
              ErrorKind::kBackend);
}

}  // namespace neuroshard::gpu
