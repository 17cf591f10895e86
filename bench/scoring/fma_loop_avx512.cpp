// Compiled with -mavx512f: nothing here may be an inline function that others call too.
#include <immintrin.h>

#include "bench/scoring/fma_loop.h"

namespace neuroshard::bench {
namespace {

// As many sums as with AVX2: enough for two units.
constexpr int kSums = 12;
constexpr int kFloats = 16;

}  // namespace

std::uint64_t fma_loop_avx512(std::uint64_t rounds) {
  __m512 sum[kSums];
  for (int i = 0; i < kSums; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  // Each sum tends to 1: no overflow, and no denormal numbers, which would be slow.
  __m512 factor = _mm512_set1_ps(0.75F);
  __m512 term = _mm512_set1_ps(0.25F);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kSums; ++i) sum[i] = _mm512_fmadd_ps(sum[i], factor, term);
    // The compiler must neither compute ahead nor keep fewer sums.
    __asm__ volatile("" : "+v"(factor), "+v"(term));
  }
  for (int i = 1; i < kSums; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  __asm__ volatile("" : : "v"(sum[0]));
  return rounds * kSums * kFloats;
}

}  // namespace neuroshard::bench
