#pragma once

#include <cstdint>

namespace neuroshard::bench {

/// Multiplies and adds as fast as one core can with AVX2: nothing but independent fused
/// multiply-adds on registers, `rounds` times. Returns how many it did (of single floats), 0 where
/// this CPU has no AVX2 and FMA. No code that reads its data from memory can be faster.
[[nodiscard]] std::uint64_t run_multiply_adds(std::uint64_t rounds);

}  // namespace neuroshard::bench
