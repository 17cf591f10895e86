#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "weights/lookups/sequential_file.h"

namespace neuroshard {

/// Reads `numbers.size()` integers of `element_bytes` (4 or 8) bytes; `narrow` is scratch.
inline void read_integers(SequentialFile& file, int element_bytes, std::span<std::int64_t> numbers,
                          std::vector<std::int32_t>& narrow) {
  if (element_bytes == 8) {
    file.read({reinterpret_cast<char*>(numbers.data()), numbers.size_bytes()});
    return;
  }
  narrow.resize(numbers.size());
  file.read({reinterpret_cast<char*>(narrow.data()), narrow.size() * sizeof(std::int32_t)});
  std::copy(narrow.begin(), narrow.end(), numbers.begin());
}

/// Calls `use(position, number)` for `count` integers.
template <typename Use>
void for_each_integer(SequentialFile& file, int element_bytes, std::int64_t count, Use use) {
  constexpr std::int64_t kBlock = 1 << 16;
  std::vector<std::int64_t> block(static_cast<std::size_t>(std::min(kBlock, count)));
  std::vector<std::int32_t> narrow;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const auto size = static_cast<std::size_t>(std::min(kBlock, count - first));
    read_integers(file, element_bytes, std::span(block).first(size), narrow);
    for (std::size_t i = 0; i < size; ++i) use(first + static_cast<std::int64_t>(i), block[i]);
  }
}

}  // namespace neuroshard
