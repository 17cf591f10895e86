#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tools/measuring/measure_inputs.h"

namespace neuroshard::tools {

/// What all ranks must have alike: it decides what they send each other, and how often.
inline constexpr std::array<std::string_view, 9> kSharedInputs = {
    "the tasks", "the batch", "the plans",    "--seed",       "the lookups of --access",
    "--rounds",  "--warm-up", "--iterations", "--keep-caches"};

/// [kSharedInputs]: of each a hash.
using InputHashes = std::array<std::uint64_t, kSharedInputs.size()>;

/// Of what one rank has read. Throws Error if a file of recorded lookups cannot be read.
[[nodiscard]] InputHashes input_hashes(const MeasureCommand& command, const MeasureInputs& inputs);

/// All ranks at once. Throws Error, after the hashes were exchanged, if those of this rank are
/// others than rank 0's.
void require_same_inputs(const ranks::RankGroup& group, const InputHashes& hashes);

}  // namespace neuroshard::tools
