#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace neuroshard {

/// `first`, `first` + 1, ... up to `end`, which is left out.
template <typename Number>
[[nodiscard]] std::vector<Number> count_up(std::size_t first, std::size_t end) {
  std::vector<Number> numbers(end - first);
  std::iota(numbers.begin(), numbers.end(), static_cast<Number>(first));
  return numbers;
}

/// 0, 1, ... up to `end`, which is left out.
template <typename Number>
[[nodiscard]] std::vector<Number> count_up(std::size_t end) {
  return count_up<Number>(0, end);
}

}  // namespace neuroshard
