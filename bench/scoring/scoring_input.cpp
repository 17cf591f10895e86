#include "bench/scoring/scoring_input.h"

#include <array>
#include <utility>
#include <vector>

#include "core/base/random.h"

namespace neuroshard::bench {
namespace {

AlignedVector<float> embeddings_of(const Backend& backend, std::span<const Table> tables,
                                   std::size_t pieces) {
  constexpr std::array kDims = {128, 64, 32, 16, 8, 4};
  const OperatorFeatures of_operator(backend.table_features());
  std::vector<float> features;
  for (std::size_t i = 0; i < pieces; ++i) {
    of_operator.append(tables[i / kDims.size() % tables.size()], kDims[i % kDims.size()], features);
  }
  AlignedVector<float> embeddings(pieces * static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings);
  return embeddings;
}

std::vector<std::uint32_t> offsets_of(std::size_t shards, std::size_t pieces_per_shard) {
  std::vector<std::uint32_t> offsets(shards + 1);
  for (std::size_t s = 0; s <= shards; ++s) {
    offsets[s] = static_cast<std::uint32_t>(s * pieces_per_shard);
  }
  return offsets;
}

}  // namespace

ScoringInput random_scoring_input(const Backend& backend, std::span<const Table> tables,
                                  std::size_t pieces, std::size_t shards,
                                  std::size_t pieces_per_shard, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> ids(shards * pieces_per_shard);
  for (std::uint32_t& id : ids) id = static_cast<std::uint32_t>(random.below(pieces));
  return {.embeddings = embeddings_of(backend, tables, pieces),
          .embedding_width = backend.embedding_width(),
          .offsets = offsets_of(shards, pieces_per_shard),
          .piece_ids = std::move(ids)};
}

ScoringInput random_edits_input(const Backend& backend, std::span<const Table> tables,
                                std::size_t pieces, std::size_t shards, std::size_t devices,
                                std::uint64_t seed) {
  constexpr std::size_t kPiecesPerShard = 4;
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  AlignedVector<float> rows = embeddings_of(backend, tables, pieces);
  const std::size_t negated = pieces;
  const std::size_t sums = 2 * pieces;
  const std::size_t zeros = sums + devices;
  rows.resize((zeros + 1) * width, 0.0F);
  for (std::size_t i = 0; i < pieces * width; ++i) {
    rows[negated * width + i] = -rows[i];
    rows[(sums + i / width % devices) * width + i % width] += rows[i];
  }
  ScoringInput input{.embeddings = std::move(rows),
                     .embedding_width = backend.embedding_width(),
                     .offsets = offsets_of(shards, kPiecesPerShard),
                     .piece_ids = {}};
  Random random(seed);
  while (input.piece_ids.size() < shards * kPiecesPerShard) {
    const std::size_t a = random.below(pieces);
    const std::size_t b = random.below(pieces);
    if (a % devices == b % devices) continue;
    for (const auto& [leaves, comes] : {std::pair{a, b}, std::pair{b, a}}) {
      for (const std::size_t id : {sums + leaves % devices, negated + leaves, comes, zeros}) {
        input.piece_ids.push_back(static_cast<std::uint32_t>(id));
      }
    }
  }
  input.piece_ids.resize(shards * kPiecesPerShard);
  return input;
}

}  // namespace neuroshard::bench
