#include "cuda/device/buffers.h"

#include <algorithm>

#include "cuda/device/check.h"

namespace neuroshard::gpu {
namespace {

std::size_t grown(std::size_t bytes, std::size_t wanted) {
  constexpr std::size_t kLeast = 4096;
  return std::max({kLeast, wanted, bytes + bytes / 2});
}

}  // namespace

void DeviceBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const std::size_t wanted = grown(bytes_, bytes);
  data_.reset();
  bytes_ = 0;
  data_.get_deleter().device = current_device();
  void* memory = nullptr;
  NEUROSHARD_CUDA_CHECK(cudaMalloc(&memory, wanted));
  data_.reset(static_cast<std::byte*>(memory));
  bytes_ = wanted;
}

void PinnedBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const std::size_t wanted = grown(bytes_, bytes);
  host_.reset();
  bytes_ = 0;
  host_.get_deleter().device = current_device();
  void* memory = nullptr;
  NEUROSHARD_CUDA_CHECK(
      cudaHostAlloc(&memory, wanted, cudaHostAllocPortable | cudaHostAllocMapped));
  host_.reset(static_cast<std::byte*>(memory));
  NEUROSHARD_CUDA_CHECK(cudaHostGetDevicePointer(&memory, host_.get(), 0));
  mapped_ = static_cast<std::byte*>(memory);
  // Only now: without a mapping, the next call is to try again.
  bytes_ = wanted;
}

Stream::Stream() {
  stream_.get_deleter().device = current_device();
  cudaStream_t stream = nullptr;
  NEUROSHARD_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_.reset(stream);
}

void Stream::copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (bytes == 0) return;
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, get()));
}

void Stream::copy_to_host(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (bytes == 0) return;
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, get()));
}

void Stream::synchronize() const { NEUROSHARD_CUDA_CHECK(cudaStreamSynchronize(get())); }

Event::Event() {
  event_.get_deleter().device = current_device();
  cudaEvent_t event = nullptr;
  NEUROSHARD_CUDA_CHECK(cudaEventCreate(&event));
  event_.reset(event);
}

void Event::record(const Stream& stream) {
  NEUROSHARD_CUDA_CHECK(cudaEventRecord(event_.get(), stream.get()));
}

double Event::ms_since(const Event& earlier) const {
  float ms = 0.0F;
  NEUROSHARD_CUDA_CHECK(cudaEventElapsedTime(&ms, earlier.event_.get(), event_.get()));
  return ms;
}

}  // namespace neuroshard::gpu
