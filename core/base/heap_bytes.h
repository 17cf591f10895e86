#pragma once

#include <cstddef>
#include <vector>

namespace neuroshard {

/// Memory that a vector holds, used or not.
template <typename T, typename Allocator>
[[nodiscard]] std::size_t heap_bytes(const std::vector<T, Allocator>& vector) {
  return vector.capacity() * sizeof(T);
}

}  // namespace neuroshard
