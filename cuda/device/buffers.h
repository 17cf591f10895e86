#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace neuroshard::gpu {

/// Each belongs to the device that is current where it gets memory or is made, and makes it current
/// to free what it has.

/// Memory of a device. Grows by half at least, so that a steady load allocates nothing;
/// growing loses the content.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void reserve(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void free_memory() noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int device_ = 0;
};

/// Page-locked host memory that the devices can read and write too. Grows like DeviceBuffer.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  void reserve(std::size_t bytes);
  [[nodiscard]] std::byte* host() const { return host_; }
  /// Address of the memory in kernels.
  [[nodiscard]] std::byte* device() const { return mapped_; }

 private:
  void free_memory() noexcept;

  std::byte* host_ = nullptr;
  std::byte* mapped_ = nullptr;
  std::size_t bytes_ = 0;
  int device_ = 0;
};

/// A queue of work on a device.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes) const;
  void copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes) const;
  /// Waits for all work so far; throws what went wrong with it.
  void synchronize() const;

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

/// A point in the work of a stream, to take times from.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream);
  /// Milliseconds of the device between the two; both must have passed.
  [[nodiscard]] double ms_since(const Event& earlier) const;

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

}  // namespace neuroshard::gpu
