#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "cuda/device/current_device.h"

namespace neuroshard::gpu {

/// Makes `device` current to free what belongs to it. Ignores errors: after a device has failed
/// every call fails, and its memory is gone.
template <auto kFree>
struct FreeOnDevice {
  FreeOnDevice() = default;
  FreeOnDevice(const FreeOnDevice&) = delete;  // Who has one is not moved either.
  FreeOnDevice& operator=(const FreeOnDevice&) = delete;

  template <typename T>
  void operator()(T* what) const noexcept {
    const CurrentDevice current(device, std::nothrow);
    (void)kFree(what);
  }

  int device = 0;
};

// Each belongs to the device that is current where it gets memory or is made.

/// Memory of a device. Grows by half at least, so that a steady load allocates nothing;
/// growing loses the content.
class DeviceBuffer {
 public:
  void reserve(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte, FreeOnDevice<cudaFree>> data_;
  std::size_t bytes_ = 0;
};

/// Page-locked host memory that the devices can read and write too. Grows like DeviceBuffer.
class PinnedBuffer {
 public:
  void reserve(std::size_t bytes);
  [[nodiscard]] std::byte* host() const { return host_.get(); }
  /// Address of the memory in kernels.
  [[nodiscard]] std::byte* device() const { return mapped_; }

 private:
  std::unique_ptr<std::byte, FreeOnDevice<cudaFreeHost>> host_;
  std::byte* mapped_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A queue of work on a device.
class Stream {
 public:
  Stream();

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  void copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes) const;
  void copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes) const;
  /// Waits for all work so far; throws what went wrong with it.
  void synchronize() const;

 private:
  std::unique_ptr<CUstream_st, FreeOnDevice<cudaStreamDestroy>> stream_;
};

/// A point in the work of a stream, to take times from.
class Event {
 public:
  Event();

  void record(const Stream& stream);
  /// Milliseconds of the device between the two; both must have passed.
  [[nodiscard]] double ms_since(const Event& earlier) const;

 private:
  std::unique_ptr<CUevent_st, FreeOnDevice<cudaEventDestroy>> event_;
};

}  // namespace neuroshard::gpu
