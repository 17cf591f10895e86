#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "neuroshard/task.h"
#include "weights/lookups/access_data.h"
#include "weights/lookups/access_stream.h"

namespace neuroshard {

/// The lookups of every table, made or read when first asked for and kept while there is room. Safe
/// to share between threads.
class StreamStore {
 public:
  /// Makes lookups from the tables' statistics: the same table, batch and seed give the same. Keeps
  /// at most about `max_bytes` that nobody uses. Borrows `tables`.
  StreamStore(std::span<const Table> tables, std::int64_t batch, std::uint64_t seed,
              std::size_t max_bytes);
  /// Reads recorded lookups (read_stream). Throws Error if `data` has other tables than `tables`.
  StreamStore(std::span<const Table> tables, AccessData data, std::size_t max_bytes);

  [[nodiscard]] std::shared_ptr<const AccessStream> stream(std::size_t table);
  [[nodiscard]] std::int64_t batch() const { return batch_; }

 private:
  struct Entry {
    std::shared_ptr<const AccessStream> stream;  ///< Null while some thread makes it.
    std::list<std::size_t>::iterator use;
  };

  void evict(std::size_t keep);

  std::int64_t batch_;
  std::size_t max_bytes_;
  std::function<AccessStream(std::size_t table)> make_;  ///< Called by any thread.
  std::mutex mutex_;
  std::condition_variable made_;
  std::unordered_map<std::size_t, Entry> entries_;
  std::list<std::size_t> uses_;  ///< Latest first.
  std::size_t bytes_ = 0;        ///< All lookups that are kept, whether anybody uses them or not.
};

}  // namespace neuroshard
