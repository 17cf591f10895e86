#pragma once

#include <cuda_runtime.h>

#include <new>

namespace neuroshard::gpu {

/// Makes a device the current one of this thread, and puts back the one before. Objects of one
/// thread must end in the reverse order of their making, but for those of one device.
///
/// Not by cudaSetDevice(): a thread that has used no device has device 0 as its current one, and
/// cudaSetDevice(0) at the end would create a context there, which takes some hundred MB of a GPU
/// that nobody asked for. Primary contexts are pushed and popped instead, so that a thread without
/// a context is left without one.
class CurrentDevice {
 public:
  /// Throws Error (kBackend) if the device cannot be used.
  explicit CurrentDevice(int device);
  /// For destructors: changes nothing if the device cannot be used.
  CurrentDevice(int device, std::nothrow_t) noexcept;
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  bool pushed_ = false;
};

/// Current device of this thread.
[[nodiscard]] int current_device();

}  // namespace neuroshard::gpu
