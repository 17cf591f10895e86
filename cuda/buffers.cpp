#include "cuda/buffers.h"

#include <algorithm>

#include "cuda/check.h"

namespace neuroshard::gpu {
namespace {

std::size_t grown(std::size_t bytes, std::size_t wanted) {
  constexpr std::size_t kLeast = 4096;
  return std::max({kLeast, wanted, bytes + bytes / 2});
}

}  // namespace

// Destructors ignore errors: after a device has failed every call fails, and its memory is gone.

CurrentDevice::CurrentDevice(int device) {
  NEUROSHARD_CUDA_CHECK(cudaGetDevice(&before_));
  NEUROSHARD_CUDA_CHECK(cudaSetDevice(device));
}

CurrentDevice::~CurrentDevice() { (void)cudaSetDevice(before_); }

DeviceBuffer::~DeviceBuffer() { (void)cudaFree(data_); }

void DeviceBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const std::size_t wanted = grown(bytes_, bytes);
  (void)cudaFree(data_);
  data_ = nullptr;
  bytes_ = 0;
  void* memory = nullptr;
  NEUROSHARD_CUDA_CHECK(cudaMalloc(&memory, wanted));
  data_ = static_cast<std::byte*>(memory);
  bytes_ = wanted;
}

PinnedBuffer::~PinnedBuffer() { (void)cudaFreeHost(host_); }

void PinnedBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const std::size_t wanted = grown(bytes_, bytes);
  (void)cudaFreeHost(host_);
  host_ = nullptr;
  device_ = nullptr;
  bytes_ = 0;
  void* memory = nullptr;
  NEUROSHARD_CUDA_CHECK(
      cudaHostAlloc(&memory, wanted, cudaHostAllocPortable | cudaHostAllocMapped));
  host_ = static_cast<std::byte*>(memory);
  bytes_ = wanted;
  NEUROSHARD_CUDA_CHECK(cudaHostGetDevicePointer(&memory, host_, 0));
  device_ = static_cast<std::byte*>(memory);
}

Stream::Stream() {
  NEUROSHARD_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Stream::~Stream() { (void)cudaStreamDestroy(stream_); }

void Stream::copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (bytes == 0) return;
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_));
}

void Stream::copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (bytes == 0) return;
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_));
}

void Stream::synchronize() const { NEUROSHARD_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

Event::Event() { NEUROSHARD_CUDA_CHECK(cudaEventCreate(&event_)); }

Event::~Event() { (void)cudaEventDestroy(event_); }

void Event::record(const Stream& stream) {
  NEUROSHARD_CUDA_CHECK(cudaEventRecord(event_, stream.get()));
}

double Event::ms_since(const Event& earlier) const {
  float ms = 0.0F;
  NEUROSHARD_CUDA_CHECK(cudaEventElapsedTime(&ms, earlier.event_, event_));
  return ms;
}

}  // namespace neuroshard::gpu
