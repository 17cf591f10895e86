// Compiled with -mavx2 -mfma: nothing here may be an inline function that others call too.
#include <immintrin.h>

#include "bench/scoring/fma_loop.h"

namespace neuroshard::bench {
namespace {

// Two units with a latency of four or five cycles are busy with ten sums; 12 leave four of the 16
// registers for the factors.
constexpr int kSums = 12;
constexpr int kFloats = 8;

}  // namespace

std::uint64_t fma_loop_avx2(std::uint64_t rounds) {
  __m256 sum[kSums];
  for (int i = 0; i < kSums; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
  // Each sum tends to 1: no overflow, and no denormal numbers, which would be slow.
  __m256 factor = _mm256_set1_ps(0.75F);
  __m256 term = _mm256_set1_ps(0.25F);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kSums; ++i) sum[i] = _mm256_fmadd_ps(sum[i], factor, term);
    // The compiler must neither compute ahead nor keep fewer sums.
    __asm__ volatile("" : "+x"(factor), "+x"(term));
  }
  for (int i = 1; i < kSums; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  __asm__ volatile("" : : "x"(sum[0]));
  return rounds * kSums * kFloats;
}

}  // namespace neuroshard::bench
