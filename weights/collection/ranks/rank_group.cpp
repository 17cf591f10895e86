#include "weights/collection/ranks/rank_group.h"

#include <numeric>
#include <utility>

namespace neuroshard::ranks {

PeerParts PeerParts::packed(std::vector<std::int64_t> counts) {
  PeerParts parts{std::move(counts), {}};
  parts.first.resize(parts.counts.size());
  std::exclusive_scan(parts.counts.begin(), parts.counts.end(), parts.first.begin(),
                      std::int64_t{0});
  return parts;
}

std::int64_t PeerParts::total() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace neuroshard::ranks
