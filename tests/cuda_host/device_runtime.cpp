#include "cuda_host/device_runtime.h"

#include <cstring>
#include <ctime>
#include <utility>

#include "cuda_host/block_executor.h"

namespace host_cuda {
namespace {

double thread_cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

Choice& choice() {
  thread_local Choice of_thread;
  return of_thread;
}

CUcontext primary_context(int device) {
  static std::map<int, CUctx_st> all;
  return &all.try_emplace(device, CUctx_st{device}).first->second;
}

int current_device() {
  const Choice& own = choice();
  return own.contexts.empty() ? own.device : own.contexts.back()->device;
}

Device& initialized_device() {
  Device& device = runtime().devices[current_device()];
  device.has_context = true;
  return device;
}

cudaError_t sticky_error() { return initialized_device().sticky; }

void* allocate(std::size_t bytes, int device) {
  // Exactly `bytes`, so that AddressSanitizer sees the end; 0xFF reads as NaN and as -1.
  void* memory = ::operator new(bytes, kAlign);
  std::memset(memory, 0xFF, bytes);
  runtime().allocations[memory] = {bytes, device};
  ++runtime().total_allocations;
  return memory;
}

namespace {

std::vector<HostMemory> pinned_memory() {
  std::vector<HostMemory> all;
  for (const auto& [memory, allocation] : runtime().allocations) {
    if (allocation.device >= 0) continue;
    const auto* bytes = static_cast<const std::byte*>(memory);
    all.push_back({memory, {bytes, bytes + allocation.bytes}});
  }
  return all;
}

void play_answer(CUstream_st& stream) {
  stream.work.clear();
  const auto& answers = runtime().answers;
  if (answers.empty()) return;
  for (const HostMemory& memory : answers[runtime().next_answer]) {
    std::memcpy(memory.at, memory.bytes.data(), memory.bytes.size());
  }
  runtime().next_answer = (runtime().next_answer + 1) % answers.size();
}

cudaError_t do_work(CUstream_st& stream) {
  Device& device = runtime().devices[stream.device];
  while (!stream.work.empty()) {
    const auto work = std::move(stream.work.front());
    stream.work.pop_front();
    if (device.sticky != cudaSuccess) continue;
    try {
      device.sticky = work();
    } catch (const KernelFault&) {
      stream.work.clear();
      device.sticky = cudaErrorLaunchFailure;
      throw;
    }
  }
  return device.sticky;
}

cudaError_t record_answer(CUstream_st& stream) {
  const std::vector<HostMemory> before = pinned_memory();
  const cudaError_t error = do_work(stream);
  std::vector<HostMemory>& answer = runtime().answers.emplace_back();
  for (const HostMemory& old : before) {
    const auto* bytes = static_cast<const std::byte*>(old.at);
    if (std::memcmp(bytes, old.bytes.data(), old.bytes.size()) == 0) continue;
    answer.push_back({old.at, {bytes, bytes + old.bytes.size()}});
  }
  return error;
}

}  // namespace

cudaError_t drain(CUstream_st& stream) {
  cudaError_t error = runtime().devices[stream.device].sticky;
  if (stream.work.empty()) return error;
  const double before = thread_cpu_ms();
  switch (runtime().work) {
    case Work::kDone:
      error = do_work(stream);
      break;
    case Work::kRecorded:
      error = record_answer(stream);
      break;
    case Work::kPlayed:
      play_answer(stream);
      break;
  }
  runtime().devices_cpu_ms += thread_cpu_ms() - before;
  return error;
}

void drain_all(int device) {
  for (CUstream_st* stream : runtime().streams) {
    if (stream->device == device) drain(*stream);
  }
}

void reset(const DeviceSettings& settings) {
  const Lock lock(runtime().mutex);
  runtime().settings = settings;
  runtime().devices.clear();
  runtime().fail_allocations = false;
  runtime().fail_mappings = false;
  runtime().work = Work::kDone;
  runtime().answers.clear();
  runtime().launches = 0;
  runtime().synchronisations = 0;
  runtime().copies = 0;
  runtime().devices_cpu_ms = 0.0;
  runtime().total_allocations = 0;
  choice() = {};
}

void set_resident_blocks(std::size_t blocks) {
  const Lock lock(runtime().mutex);
  runtime().settings.resident_blocks = blocks;
}

void fail_after(int launches, int device) {
  const Lock lock(runtime().mutex);
  runtime().devices[device].launches_until_failure = launches;
}

void set_work(Work work) {
  const Lock lock(runtime().mutex);
  runtime().work = work;
  runtime().next_answer = 0;
  if (work == Work::kRecorded) runtime().answers.clear();
}

void fail_allocations(bool fail) {
  const Lock lock(runtime().mutex);
  runtime().fail_allocations = fail;
}

void fail_mappings(bool fail) {
  const Lock lock(runtime().mutex);
  runtime().fail_mappings = fail;
}

Usage usage() {
  const Lock lock(runtime().mutex);
  Usage usage;
  for (const auto& [memory, allocation] : runtime().allocations) {
    ++(allocation.device < 0 ? usage.host_allocations : usage.device_allocations);
  }
  usage.streams = runtime().streams.size();
  for (const auto& [number, device] : runtime().devices) {
    if (device.has_context) usage.devices_with_context.push_back(number);
  }
  usage.launches = runtime().launches;
  usage.synchronisations = runtime().synchronisations;
  usage.copies = runtime().copies;
  usage.devices_cpu_ms = runtime().devices_cpu_ms;
  usage.total_allocations = runtime().total_allocations;
  return usage;
}

cudaError_t enqueue_launch(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                           std::function<void()> kernel) {
  const Lock lock(runtime().mutex);
  const DeviceSettings& settings = runtime().settings;
  if (sticky_error() != cudaSuccess) return sticky_error();
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.y > 65535 || grid.z > 65535 || shared_bytes > settings.shared_bytes_per_block ||
      stream->device != current_device()) {
    return cudaErrorInvalidValue;
  }
  ++runtime().launches;
  Device& device = initialized_device();
  const bool fails = device.launches_until_failure == 0;
  if (device.launches_until_failure >= 0) --device.launches_until_failure;
  const Grid shape{.grid = {grid.x, grid.y, grid.z},
                   .block = {block.x, block.y, block.z},
                   .shared_bytes = shared_bytes};
  const Order order{.schedule = settings.schedule,
                    .seed = settings.seed,
                    .resident_blocks = settings.resident_blocks};
  stream->work.emplace_back([shape, fails, kernel = std::move(kernel), order] {
    if (fails) return cudaErrorIllegalAddress;
    execute(shape, kernel, order);
    return cudaSuccess;
  });
  return cudaSuccess;
}

cudaError_t enqueue_work(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  stream->work.emplace_back([work = std::move(work)] {
    work();
    return cudaSuccess;
  });
  return cudaSuccess;
}

}  // namespace host_cuda
