#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace neuroshard::testing {

/// How often a random test repeats: `count` times, or a tenth of that where sanitizers
/// (NEUROSHARD_SANITIZED, from CMake) make everything ten times slower. Not for tests of damaged
/// files: those are there for the sanitizers.
constexpr std::uint64_t repetitions(std::uint64_t count) {
  return NEUROSHARD_SANITIZED ? (count + 9) / 10 : count;
}

/// Whether tests of the search draw fewer tasks than it takes to see rare ones: with sanitizers,
/// and unless the environment variable NEUROSHARD_THOROUGH_TESTS is set.
inline const bool kFewTasks =
    NEUROSHARD_SANITIZED || std::getenv("NEUROSHARD_THOROUGH_TESTS") == nullptr;

/// How many tasks a test of the search draws: `count`, or if they are few a fifth of it, and a
/// tenth with sanitizers.
inline std::uint64_t drawn_tasks(std::uint64_t count) {
  return kFewTasks && !NEUROSHARD_SANITIZED ? (count + 4) / 5 : repetitions(count);
}

/// Changes to the byte at `position` of a damaged file: all of `changes`, or with sanitizers one of
/// them, each byte the next.
template <std::size_t N>
constexpr std::span<const unsigned> changes_at(std::size_t position,
                                               const std::array<unsigned, N>& changes) {
  const std::span all(changes);
  return NEUROSHARD_SANITIZED ? all.subspan(position % N, 1) : all;
}
template <std::size_t N>
std::span<const unsigned> changes_at(std::size_t, const std::array<unsigned, N>&&) = delete;

}  // namespace neuroshard::testing
