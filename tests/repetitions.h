#pragma once

#include <cstdint>

namespace neuroshard::testing {

/// How often a random test repeats: `count` times, or a tenth of that where sanitizers
/// (NEUROSHARD_SANITIZED, from CMake) make everything ten times slower. Not for tests of damaged
/// files: those are there for the sanitizers.
constexpr std::uint64_t repetitions(std::uint64_t count) {
  return NEUROSHARD_SANITIZED ? (count + 9) / 10 : count;
}

}  // namespace neuroshard::testing
