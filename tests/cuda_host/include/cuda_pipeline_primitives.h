#pragma once

// Stands in for NVIDIA's header of copies from device memory to shared memory that a thread starts
// and goes on from. Here they are carried out when they are waited for, and not before, so that a
// missing wait shows. Until then what lies there is not to be relied on: it is overwritten at the
// start, which the race checker sees, too.

#include <cstdint>

#include "cuda_host/block_executor.h"
#include "cuda_host/left_out.h"

namespace host_cuda {

// In words, so that the race checker sees every access.
inline void overwrite(void* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / 4; ++i) static_cast<std::uint32_t*>(to)[i] = 0xFFFFFFFFU;
}
inline void land(const AsyncCopy& copy) {
  for (std::size_t i = 0; i < copy.bytes / 4; ++i) {
    static_cast<std::uint32_t*>(copy.to)[i] = static_cast<const std::uint32_t*>(copy.from)[i];
  }
}

}  // namespace host_cuda

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  const auto misaligned =
      (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % bytes;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || misaligned != 0) {
    host_cuda::kernel_fault("__pipeline_memcpy_async of other than 4, 8 or 16 aligned bytes");
  }
  host_cuda::overwrite(to, bytes);
  host_cuda::start_copy({to, from, bytes});
}
inline void __pipeline_commit() { host_cuda::commit_copies(); }
inline void __pipeline_wait_prior(std::size_t prior, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
  if (host_cuda::left_out(file, line)) return;
  while (const auto copy = host_cuda::next_landing_copy(prior)) host_cuda::land(*copy);
}
