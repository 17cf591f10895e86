#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "cuda/backend/device_context.h"

namespace neuroshard::gpu {

/// Blocks of memory this small are read and written by kernels over the bus, where they lie in
/// pinned host memory: that saves a copy, which costs more than it moves. Not yet measured.
inline constexpr std::size_t kDirectBytes = std::size_t{16} << 10;

/// Offsets of arrays that lie one behind the other, each on a 16-byte boundary.
class ArrayPlan {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += (bytes + 15) / 16 * 16;
    return at;
  }
  template <typename T>
  std::size_t add(std::span<const T> values) {
    return add(values.size_bytes());
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

template <typename T>
void put(std::byte* at, std::span<const T> values) {
  if (!values.empty()) std::memcpy(at, values.data(), values.size_bytes());
}

template <typename T>
T* at(std::byte* memory, std::size_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

/// Inputs of a call: written to `host()`, then sent.
class InputBlock {
 public:
  InputBlock(Workspace& workspace, std::size_t bytes) : workspace_(workspace), bytes_(bytes) {
    workspace.host_in.reserve(bytes);
  }
  [[nodiscard]] std::byte* host() const { return workspace_.host_in.host(); }
  /// Where kernels find it. `direct`: they read each byte about once.
  [[nodiscard]] std::byte* send(bool direct) const {
    if (direct && bytes_ <= kDirectBytes) return workspace_.host_in.device();
    workspace_.device_in.reserve(bytes_);
    workspace_.busy = true;
    workspace_.stream.copy_to_device(workspace_.device_in.data(), host(), bytes_);
    return workspace_.device_in.data();
  }

 private:
  Workspace& workspace_;
  std::size_t bytes_;
};

/// Outputs of a call: kernels write to `device()`; receive() waits for everything on the stream.
class OutputBlock {
 public:
  OutputBlock(Workspace& workspace, std::size_t bytes)
      : workspace_(workspace), bytes_(bytes), direct_(bytes <= kDirectBytes) {
    workspace.host_out.reserve(bytes);
    if (!direct_) workspace.device_out.reserve(bytes);
  }
  [[nodiscard]] std::byte* device() const {
    return direct_ ? workspace_.host_out.device() : workspace_.device_out.data();
  }
  /// Sends the outputs to the host, after the kernels launched so far.
  void fetch() const {
    if (direct_) return;
    workspace_.stream.copy_to_host(workspace_.host_out.host(), workspace_.device_out.data(),
                                   bytes_);
  }
  [[nodiscard]] const std::byte* receive() const {
    workspace_.stream.synchronize();
    workspace_.busy = false;
    return workspace_.host_out.host();
  }

 private:
  Workspace& workspace_;
  std::size_t bytes_;
  bool direct_;
};

}  // namespace neuroshard::gpu
