#include "bench/scoring/scoring_input.h"

#include <array>

#include "core/base/random.h"

namespace neuroshard::bench {

ScoringInput random_scoring_input(const Backend& backend, std::span<const Table> tables,
                                  std::size_t pieces, std::size_t shards,
                                  std::size_t pieces_per_shard, std::uint64_t seed) {
  constexpr std::array kDims = {128, 64, 32, 16, 8, 4};
  const OperatorFeatures of_operator(backend.table_features());
  std::vector<float> features;
  for (std::size_t i = 0; i < pieces; ++i) {
    of_operator.append(tables[i / kDims.size() % tables.size()], kDims[i % kDims.size()], features);
  }
  ScoringInput input;
  input.embedding_width = backend.embedding_width();
  input.embeddings.resize(pieces * static_cast<std::size_t>(input.embedding_width));
  backend.embed_pieces(features, input.embeddings);
  Random random(seed);
  input.piece_ids.resize(shards * pieces_per_shard);
  for (std::uint32_t& id : input.piece_ids) id = static_cast<std::uint32_t>(random.below(pieces));
  input.offsets.resize(shards + 1);
  for (std::size_t s = 0; s <= shards; ++s) {
    input.offsets[s] = static_cast<std::uint32_t>(s * pieces_per_shard);
  }
  return input;
}

}  // namespace neuroshard::bench
