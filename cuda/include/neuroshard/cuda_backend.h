#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/backend.h"

#pragma GCC visibility push(default)
namespace neuroshard {

inline constexpr std::string_view kCudaBackend = "cuda";

/// A CUDA device that the driver shows to this process.
struct CudaDevice {
  int index = 0;  ///< The number that CUDA gives it, after CUDA_VISIBLE_DEVICES.
  std::string name;
  int compute_capability = 0;  ///< Major * 10 + minor: 80, 90, ...
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  /// True if the kernels in this library run on it.
  bool usable = false;
};

struct CudaOptions {
  /// Devices to use, as in CudaDevice::index; tasks are spread over them. Empty: every usable one.
  std::vector<int> devices;
};

/// True if this library was built with the CUDA backend. Says nothing about devices.
[[nodiscard]] bool cuda_backend_built() noexcept;

/// The devices that the driver shows, usable or not; empty without the backend, a driver or a
/// device. Does not throw: ask make_cuda_backend for the reason.
[[nodiscard]] std::vector<CudaDevice> cuda_devices();

/// Makes the backend that places candidates on CUDA devices. Costs and plans equal those of the CPU
/// backends bit for bit. Safe to share between threads: each call to it takes a stream of its own.
///
/// Throws Error (kBackend) if no device can be used, saying why and what to do. Reasons are that
/// the library was built without CUDA, there is no device, the driver or a device is too old, or
/// there is too little device memory. Each later call on the backend or its sessions throws Error
/// (kBackend) if the device fails. A failure of the device is final for the process, as CUDA has
/// it, so carry on with a CPU backend.
[[nodiscard]] std::unique_ptr<Backend> make_cuda_backend(const CostModels& models,
                                                         const CudaOptions& options = {});

}  // namespace neuroshard
#pragma GCC visibility pop
