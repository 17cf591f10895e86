#include "search/piece_pool.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "neuroshard/plan.h"

namespace neuroshard {
namespace {

auto identity_of(const Table& table) {
  return std::tie(table.rows, table.dim, table.pooling_factor, table.access_histogram);
}

}  // namespace

PiecePool::PiecePool(const Backend& backend, const Task& task) : whole_(task.tables.size()) {
  std::vector<std::uint32_t> by_identity(task.tables.size());
  std::iota(by_identity.begin(), by_identity.end(), 0U);
  std::stable_sort(by_identity.begin(), by_identity.end(), [&](std::uint32_t a, std::uint32_t b) {
    return identity_of(task.tables[a]) < identity_of(task.tables[b]);
  });
  std::vector<float> features;
  const Table* previous = nullptr;
  for (const std::uint32_t index : by_identity) {
    const Table& table = task.tables[index];
    if (previous != nullptr && identity_of(*previous) == identity_of(table)) {
      whole_[index] = whole_[static_cast<std::size_t>(previous - task.tables.data())];
      continue;
    }
    previous = &table;
    whole_[index] = static_cast<std::uint32_t>(dims_.size());
    for (int dim = table.dim;; dim /= 2) {
      dims_.push_back(dim);
      size_bytes_.push_back(table.rows * dim * 4);
      const auto row = table_features(table, dim);
      features.insert(features.end(), row.begin(), row.end());
      if (!can_split_columns(dim)) break;
    }
  }
  embeddings_.resize(size() * static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings_);

  std::vector<std::uint32_t> offsets(size() + 1);
  std::iota(offsets.begin(), offsets.end(), 0U);
  cost_ms_.resize(size());
  backend.score_shards(embeddings_, {offsets, std::span(offsets).first(size())}, cost_ms_);
}

bool PiecePool::can_split(std::uint32_t piece) const { return can_split_columns(dims_[piece]); }

}  // namespace neuroshard
