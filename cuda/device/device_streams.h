#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cuda/device/buffers.h"
#include "weights/lookups/stream_store.h"

namespace neuroshard::gpu {

/// Lookups of tables in device memory, kept while there is room.
class DeviceStreams {
 public:
  struct Lookups {
    const std::int64_t* indices = nullptr;
    const std::int64_t* offsets = nullptr;
    std::int64_t count = 0;
  };

  /// Keeps at most about `max_bytes` beside those of the latest sample. Borrows `store`.
  DeviceStreams(StreamStore& store, std::size_t max_bytes) : store_(store), max_bytes_(max_bytes) {}

  /// Begins a sample: lookups asked for after this stay until the next call.
  void begin_sample() { ++sample_; }
  /// Lookups of `table`, copied to the current device unless they are there.
  [[nodiscard]] Lookups get(std::size_t table, const Stream& stream);

 private:
  struct Entry {
    DeviceBuffer memory;
    Lookups lookups;
    std::size_t bytes = 0;
    std::uint64_t last_sample = 0;
  };

  void evict(std::size_t coming_bytes);

  StreamStore& store_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t sample_ = 0;
  std::unordered_map<std::size_t, Entry> entries_;
};

}  // namespace neuroshard::gpu
