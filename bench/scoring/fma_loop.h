#pragma once

#include <cstdint>

namespace neuroshard::bench {

/// Only on CPUs with AVX2 and FMA; see run_multiply_adds.
[[nodiscard]] std::uint64_t fma_loop_avx2(std::uint64_t rounds);
/// Only on CPUs with AVX-512F.
[[nodiscard]] std::uint64_t fma_loop_avx512(std::uint64_t rounds);

}  // namespace neuroshard::bench
