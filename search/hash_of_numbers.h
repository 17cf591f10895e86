#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuroshard {

/// For sets of states that searches know to be hopeless.
struct HashOfNumbers {
  std::size_t operator()(const std::vector<std::int64_t>& numbers) const {
    std::uint64_t hash = 0;
    for (const std::int64_t number : numbers) {
      hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace neuroshard
