#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace neuroshard {

static_assert(std::endian::native == std::endian::little,
              "numbers of files are copied as they are");

/// The number that `bytes` are, the lowest first; the highest ones may be missing.
template <typename Number>
[[nodiscard]] Number little_endian(std::string_view bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  return number;
}

}  // namespace neuroshard
