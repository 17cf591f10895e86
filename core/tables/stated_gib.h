#pragma once

#include <cstdint>

namespace neuroshard {

inline constexpr double kGib = 1073741824.0;  ///< In bytes.

/// Memory is less: bytes are counted with 63 bits.
inline constexpr double kGibLimit = 8589934592.0;

/// `bytes` in GiB with the fewest digits of which bytes_from_gib() makes `bytes` again: 0.01 where
/// somebody gave 0.01, not 0.009999999776, which the bytes, a whole number, really are.
[[nodiscard]] double stated_gib(std::int64_t bytes);

}  // namespace neuroshard
