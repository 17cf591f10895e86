#pragma once

#include <cstdint>
#include <string_view>

namespace neuroshard::bench {

/// Multiplies and adds as fast as one core can: nothing but independent fused multiply-adds on the
/// widest registers that this CPU has, `rounds` times. Returns how many it did (of single floats),
/// 0 without AVX2 and FMA. No code that reads its data from memory can be faster.
[[nodiscard]] std::uint64_t run_multiply_adds(std::uint64_t rounds);

/// The instructions that it uses: "AVX-512", "AVX2" or "".
[[nodiscard]] std::string_view multiply_add_instructions();

}  // namespace neuroshard::bench
