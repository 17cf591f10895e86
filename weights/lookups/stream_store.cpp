#include "weights/lookups/stream_store.h"

#include <string>
#include <utility>

#include "core/base/random.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

std::size_t bytes_of(const AccessStream& stream) {
  return (stream.indices.size() + stream.offsets.size()) * sizeof(std::int64_t);
}

}  // namespace

StreamStore::StreamStore(std::span<const Table> tables, std::int64_t batch, std::uint64_t seed,
                         std::size_t max_bytes)
    : batch_(batch), max_bytes_(max_bytes), make_([=](std::size_t table) {
        Random random(seed, table);
        const auto touches = plan_touches(tables[table], batch, random);
        return make_stream(tables[table], touches, batch, random);
      }) {}

StreamStore::StreamStore(std::span<const Table> tables, AccessData data, std::size_t max_bytes)
    : batch_(data.batch), max_bytes_(max_bytes) {
  if (data.tables() != tables.size()) {
    throw Error(data.path.string() + ": has " + std::to_string(data.tables()) +
                " tables, the table configs " + std::to_string(tables.size()) +
                "; take the tables that 'neuroshard profile' makes of this file");
  }
  make_ = [tables, data = std::move(data)](std::size_t table) {
    return read_stream(data, table, tables[table].rows);
  };
}

std::shared_ptr<const AccessStream> StreamStore::stream(std::size_t table) {
  std::unique_lock lock(mutex_);
  if (const auto found = entries_.find(table); found != entries_.end()) {
    uses_.splice(uses_.begin(), uses_, found->second.use);
    made_.wait(lock, [&] {
      const auto entry = entries_.find(table);
      return entry == entries_.end() || entry->second.stream != nullptr;
    });
    if (const auto entry = entries_.find(table); entry != entries_.end()) {
      return entry->second.stream;
    }
  }
  uses_.push_front(table);
  entries_[table] = {nullptr, uses_.begin()};
  lock.unlock();
  std::shared_ptr<const AccessStream> made;
  try {
    made = std::make_shared<const AccessStream>(make_(table));
  } catch (...) {
    lock.lock();
    uses_.erase(entries_[table].use);
    entries_.erase(table);
    made_.notify_all();
    throw;
  }
  lock.lock();
  entries_[table].stream = made;
  bytes_ += bytes_of(*made);
  evict(table);
  made_.notify_all();
  return made;
}

void StreamStore::evict(std::size_t keep) {
  for (auto use = uses_.end(); bytes_ > max_bytes_ && use != uses_.begin();) {
    --use;
    const auto entry = entries_.find(*use);
    if (*use == keep || entry->second.stream == nullptr) continue;
    bytes_ -= bytes_of(*entry->second.stream);
    entries_.erase(entry);
    use = uses_.erase(use);
  }
}

}  // namespace neuroshard
