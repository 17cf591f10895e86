#include "search/state/held_shards.h"

#include <algorithm>

namespace neuroshard {

void HeldShards::count(const ShardCatalog& catalog, int shard, int sign) {
  const ShardLoad& load = catalog.load(shard);
  bytes_ += sign * load.bytes;
  stored_bytes_ += sign * load.stored_bytes;
  ids_ += sign * load.ids;
  columns_ += sign * load.columns;
  if (load.hosted != nullptr) hosted_.add(catalog.hosted(load, device_), sign);
}

void HeldShards::add(const ShardCatalog& catalog, int shard) {
  if (shards_.size() % kShardsOfPart == 0) parts_.emplace_back();
  shards_.push_back(shard);
  parts_.back().known = false;
  count(catalog, shard, 1);
}

// The last shard takes the place of the one that leaves.
void HeldShards::take_out(const ShardCatalog& catalog, int shard) {
  const auto at = std::ranges::find(shards_, shard);
  parts_[static_cast<std::size_t>(at - shards_.begin()) / kShardsOfPart].known = false;
  *at = shards_.back();
  shards_.pop_back();
  parts_.back().known = false;
  if (shards_.size() % kShardsOfPart == 0) parts_.pop_back();
  count(catalog, shard, -1);
}

void HeldShards::sum_up(const ShardCatalog& catalog, float* embedding) {
  const std::size_t width = catalog.embedding_width();
  if (parts_.size() < 2) {
    price_ms_ = sum_up_part(catalog, 0, embedding);
    return;
  }
  std::fill_n(embedding, width, 0.0F);
  price_ms_ = 0.0;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    if (!part.known) {
      part.embedding.resize(width);
      part.price_ms = sum_up_part(catalog, p, part.embedding.data());
      part.known = true;
    }
    for (std::size_t i = 0; i < width; ++i) embedding[i] += part.embedding[i];
    price_ms_ += part.price_ms;
  }
}

double HeldShards::sum_up_part(const ShardCatalog& catalog, std::size_t part, float* sum) const {
  const std::size_t width = catalog.embedding_width();
  std::fill_n(sum, width, 0.0F);
  double price_ms = 0.0;
  const std::size_t first = part * kShardsOfPart;
  const std::size_t end = std::min(first + kShardsOfPart, shards_.size());
  for (std::size_t s = first; s < end; ++s) {
    const float* const embedding = catalog.embedding(shards_[s]);
    for (std::size_t i = 0; i < width; ++i) sum[i] += embedding[i];
    price_ms += catalog.load(shards_[s]).price_ms;
  }
  return price_ms;
}

}  // namespace neuroshard
