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

/// Devices after edits of a plan, as a search asks for them: two pieces of two devices change
/// places. An edit makes two shards of four pieces each. They are the sum of all that the device
/// has, the piece that leaves, negated, the piece that comes, and zeros, in whose place an edit may
/// bring a second one. `pieces` are dealt to `devices` in turn.
[[nodiscard]] ScoringInput random_edits_input(const Backend& backend, std::span<const Table> tables,
                                              std::size_t pieces, std::size_t shards,
                                              std::size_t devices, std::uint64_t seed);

}  // namespace neuroshard::bench
