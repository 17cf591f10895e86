#include "cuda/device/device_streams.h"

#include <span>

namespace neuroshard::gpu {

DeviceStreams::Lookups DeviceStreams::get(std::size_t table, const Stream& stream) {
  if (const auto found = entries_.find(table); found != entries_.end()) {
    found->second.last_sample = sample_;
    return found->second.lookups;
  }
  const std::shared_ptr<const AccessStream> host = store_.stream(table);
  const auto indices = std::as_bytes(std::span(host->indices));
  const auto offsets = std::as_bytes(std::span(host->offsets));
  const std::size_t bytes = indices.size() + offsets.size();
  evict(bytes);
  Entry& entry = entries_[table];
  try {
    entry.memory.reserve(bytes);
    stream.copy_to_device(entry.memory.data(), offsets.data(), offsets.size());
    stream.copy_to_device(entry.memory.data() + offsets.size(), indices.data(), indices.size());
    stream.synchronize();  // `host` may go.
  } catch (...) {
    entries_.erase(table);
    throw;
  }
  entry.lookups = {reinterpret_cast<const std::int64_t*>(entry.memory.data() + offsets.size()),
                   reinterpret_cast<const std::int64_t*>(entry.memory.data()),
                   static_cast<std::int64_t>(host->indices.size())};
  entry.bytes = bytes;
  entry.last_sample = sample_;
  bytes_ += bytes;
  return entry.lookups;
}

void DeviceStreams::evict(std::size_t coming_bytes) {
  while (bytes_ + coming_bytes > max_bytes_) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second.last_sample == sample_) continue;
      if (oldest == entries_.end() || entry->second.last_sample < oldest->second.last_sample) {
        oldest = entry;
      }
    }
    if (oldest == entries_.end()) return;
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
  }
}

}  // namespace neuroshard::gpu
