#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace neuroshard::testing {

/// How often a random test repeats: `count` times, or a tenth of that where sanitizers
/// (NEUROSHARD_SANITIZED, from CMake) make everything ten times slower. Not for tests of damaged
/// files: those are there for the sanitizers.
constexpr std::uint64_t repetitions(std::uint64_t count) {
  return NEUROSHARD_SANITIZED ? (count + 9) / 10 : count;
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
