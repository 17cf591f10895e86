#include "weights/collection/cache_flush.h"

#include <unistd.h>

#include <algorithm>

namespace neuroshard {
namespace {

// At least twice the last-level cache; writing it leaves nothing else there.
std::size_t flush_bytes() {
  const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  constexpr long kAtLeast = 64L << 20;
  return static_cast<std::size_t>(2 * std::max(cache, kAtLeast));
}

}  // namespace

CacheFlush::CacheFlush(ThreadTeam& team) : team_(team), bytes_(flush_bytes()) {}

void CacheFlush::operator()() {
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  ++flushes_;
  team_.run((bytes_.size() + kChunk - 1) / kChunk, [&](std::size_t task, std::size_t) {
    const std::size_t last = std::min(bytes_.size(), (task + 1) * kChunk);
    std::fill(bytes_.begin() + static_cast<std::ptrdiff_t>(task * kChunk),
              bytes_.begin() + static_cast<std::ptrdiff_t>(last), flushes_);
  });
}

}  // namespace neuroshard
