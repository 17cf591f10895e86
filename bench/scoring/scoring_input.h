#pragma once

#include <cstdint>
#include <span>

#include "bench/scoring/scorer.h"

namespace neuroshard::bench {

/// `shards` shards of `pieces_per_shard` pieces each, drawn uniformly from `pieces` pieces: tables
/// of `tables` at the dims 128, 64, ..., 4, in turn.
[[nodiscard]] ScoringInput random_scoring_input(const Backend& backend,
                                                std::span<const Table> tables, std::size_t pieces,
                                                std::size_t shards, std::size_t pieces_per_shard,
                                                std::uint64_t seed);

}  // namespace neuroshard::bench
