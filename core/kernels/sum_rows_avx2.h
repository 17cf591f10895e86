#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/unroll.h"

namespace neuroshard::avx2 {

/// out = the sum of the rows [id, end) of `embeddings`, in their order. Rows of 32 floats, as in
/// the published models: four registers a row.
static inline void sum_rows_of_32(const float* embeddings, const std::uint32_t* id,
                                  const std::uint32_t* end, float* out) {
  __m256 sum[4];
  unroll<4>([&](auto v) { sum[v] = _mm256_setzero_ps(); });
  for (; id < end; ++id) {
    const float* row = embeddings + std::ptrdiff_t{*id} * (4 * kLanes);
    unroll<4>([&](auto v) { sum[v] = _mm256_add_ps(sum[v], _mm256_loadu_ps(row + v * kLanes)); });
  }
  unroll<4>([&](auto v) { _mm256_storeu_ps(out + v * kLanes, sum[v]); });
}

}  // namespace neuroshard::avx2
