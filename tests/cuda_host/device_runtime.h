#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include "cuda_host/host_cuda.h"

struct CUctx_st {
  int device = 0;
};

struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};

struct CUstream_st {
  int device = 0;
  std::deque<std::function<cudaError_t()>> work;
};

namespace host_cuda {

// The state behind the calls of cuda_calls.cpp: devices, contexts, memory, streams, errors.

constexpr std::align_val_t kAlign{256};

struct Device {
  cudaError_t sticky = cudaSuccess;
  int launches_until_failure = -1;
  std::size_t used_bytes = 0;
  bool has_context = false;
};

struct Allocation {
  std::size_t bytes = 0;
  int device = -1;  ///< -1: pinned host memory.
};

/// Bytes that were written to an allocation of pinned memory.
struct HostMemory {
  void* at = nullptr;
  std::vector<std::byte> bytes;
};

struct Runtime {
  std::recursive_mutex mutex;
  DeviceSettings settings;
  std::map<int, Device> devices;
  std::map<void*, Allocation> allocations;
  std::set<CUstream_st*> streams;
  bool fail_allocations = false;
  bool fail_mappings = false;
  Work work = Work::kDone;
  std::vector<std::vector<HostMemory>> answers;  ///< Answers of each wait that had work.
  std::size_t next_answer = 0;
  std::uint64_t launches = 0;
  std::uint64_t synchronisations = 0;
  std::uint64_t copies = 0;
  double devices_cpu_ms = 0.0;
  std::uint64_t total_allocations = 0;
};
[[nodiscard]] Runtime& runtime();
using Lock = std::lock_guard<std::recursive_mutex>;

/// Choices of a thread of the operating system.
struct Choice {
  int device = 0;                   ///< By cudaSetDevice.
  std::vector<CUcontext> contexts;  ///< A stack, whose last is current.
};
[[nodiscard]] Choice& choice();
[[nodiscard]] CUcontext primary_context(int device);
[[nodiscard]] int current_device();

// The rest is called with a Lock of the runtime's mutex.

/// Most calls do this first: they create a context on the current device if it has none.
Device& initialized_device();
[[nodiscard]] cudaError_t sticky_error();
/// `device`: -1 for pinned host memory.
[[nodiscard]] void* allocate(std::size_t bytes, int device);
/// Does everything that was queued, or what Work says. A fault leaves the rest undone, as on a
/// device.
cudaError_t drain(CUstream_st& stream);
void drain_all(int device);

}  // namespace host_cuda
