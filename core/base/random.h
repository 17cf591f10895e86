#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/host_device.h"

namespace neuroshard {

/// Random numbers that are the same with every compiler and standard library, unlike those of
/// <random>'s distributions. A stream is cheap to open, so draw number `i` of a collection can have
/// stream `i`: a run that is resumed draws what it would have drawn.
///
/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  NEUROSHARD_HOST_DEVICE explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed + kStep) ^ mix(stream * kStep + 1)) {}

  NEUROSHARD_HOST_DEVICE std::uint64_t next() { return mix(state_ += kStep); }

  /// Uniform in [0, bound); `bound` is at least 1. (Lemire: Fast random integer generation in an
  /// interval, 2019.)
  NEUROSHARD_HOST_DEVICE std::uint64_t below(std::uint64_t bound) {
    Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t unfair = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < unfair) {
        product = static_cast<Wide>(next()) * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Uniform in [0, 1).
  NEUROSHARD_HOST_DEVICE double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// From low to high, with a logarithm that is uniform; both are positive.
  double log_uniform(double low, double high);

  /// Standard normal (Box and Muller; one of the pair is thrown away).
  double normal();

 private:
  // NOLINTNEXTLINE(modernize-use-using): nvcc knows __extension__ before this form only.
  __extension__ typedef unsigned __int128 Wide;
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;

  NEUROSHARD_HOST_DEVICE static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

/// In random order.
template <typename T>
void shuffle(std::span<T> items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace neuroshard
