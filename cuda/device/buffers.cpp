#include "cuda/device/buffers.h"

#include <algorithm>

#include "cuda/device/check.h"
#include "cuda/device/current_device.h"

namespace neuroshard::gpu {
namespace {

std::size_t grown(std::size_t bytes, std::size_t wanted) {
  constexpr std::size_t kLeast = 4096;
  return std::max({kLeast, wanted, bytes + bytes / 2});
}

}  // namespace

// Destructors ignore errors: after a device has failed every call fails, and its memory is gone.

DeviceBuffer::~DeviceBuffer() { free_memory(); }

void DeviceBuffer::free_memory() noexcept {
  if (data_ == nullptr) return;
  const CurrentDevice current(device_, std::nothrow);
  (void)cudaFree(data_);
  data_ = nullptr;
  bytes_ = 0;
}

void DeviceBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const std::size_t wanted = grown(bytes_, bytes);
  free_memory();
  device_ = current_device();
  void* memory = nullptr;
  NEUROSHARD_CUDA_CHECK(cudaMalloc(&memory, wanted));
  data_ = static_cast<std::byte*>(memory);
  bytes_ = wanted;
}

PinnedBuffer::~PinnedBuffer() { free_memory(); }

void PinnedBuffer::free_memory() noexcept {
  if (host_ == nullptr) return;
  const CurrentDevice current(device_, std::nothrow);
  (void)cudaFreeHost(host_);
  host_ = nullptr;
  mapped_ = nullptr;
  bytes_ = 0;
}

void PinnedBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const std::size_t wanted = grown(bytes_, bytes);
  free_memory();
  device_ = current_device();
  void* memory = nullptr;
  NEUROSHARD_CUDA_CHECK(
      cudaHostAlloc(&memory, wanted, cudaHostAllocPortable | cudaHostAllocMapped));
  host_ = static_cast<std::byte*>(memory);
  NEUROSHARD_CUDA_CHECK(cudaHostGetDevicePointer(&memory, host_, 0));
  mapped_ = static_cast<std::byte*>(memory);
  // Only now: without a mapping, the next call is to try again.
  bytes_ = wanted;
}

Stream::Stream() : device_(current_device()) {
  NEUROSHARD_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Stream::~Stream() {
  const CurrentDevice current(device_, std::nothrow);
  (void)cudaStreamDestroy(stream_);
}

void Stream::copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (bytes == 0) return;
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_));
}

void Stream::copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (bytes == 0) return;
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_));
}

void Stream::synchronize() const { NEUROSHARD_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

Event::Event() : device_(current_device()) { NEUROSHARD_CUDA_CHECK(cudaEventCreate(&event_)); }

Event::~Event() {
  const CurrentDevice current(device_, std::nothrow);
  (void)cudaEventDestroy(event_);
}

void Event::record(const Stream& stream) {
  NEUROSHARD_CUDA_CHECK(cudaEventRecord(event_, stream.get()));
}

double Event::ms_since(const Event& earlier) const {
  float ms = 0.0F;
  NEUROSHARD_CUDA_CHECK(cudaEventElapsedTime(&ms, earlier.event_, event_));
  return ms;
}

}  // namespace neuroshard::gpu
