#include <immintrin.h>

#include <cstddef>

#include "core/kernels_avx2.h"
#include "core/unroll_avx2.h"

namespace neuroshard::avx2 {
namespace {

inline float lowest_of(__m256 x) {
  __m128 lowest = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  lowest = _mm_min_ps(lowest, _mm_movehl_ps(lowest, lowest));
  return _mm_cvtss_f32(_mm_min_ss(lowest, _mm_movehdup_ps(lowest)));
}

// The best device among those whose cost is exactly `cost` and that have room, or -1.
inline int best_at_cost(float cost, const float* cost_ms, const std::int64_t* memory,
                        const std::int64_t* dim_sum, int devices, std::int64_t max_memory,
                        std::int64_t max_dim_sum) {
  const __m256 wanted = _mm256_set1_ps(cost);
  int best = -1;
  for (int d = 0; d < devices; d += kLanes) {
    const __m256 equal = _mm256_cmp_ps(_mm256_loadu_ps(cost_ms + d), wanted, _CMP_EQ_OQ);
    for (auto lanes = static_cast<unsigned>(_mm256_movemask_ps(equal)); lanes != 0;
         lanes &= lanes - 1) {
      const int device = d + __builtin_ctz(lanes);
      if (memory[device] > max_memory || dim_sum[device] > max_dim_sum) continue;
      if (best < 0 || memory[device] < memory[best]) best = device;
    }
  }
  return best;
}

// The lowest cost above `floor`; infinite if there is none.
inline float lowest_above(float floor, const float* cost_ms, int devices) {
  const __m256 infinity = _mm256_set1_ps(__builtin_inff());
  const __m256 bound = _mm256_set1_ps(floor);
  __m256 lowest = infinity;
  for (int d = 0; d < devices; d += kLanes) {
    const __m256 cost = _mm256_loadu_ps(cost_ms + d);
    const __m256 above = _mm256_cmp_ps(cost, bound, _CMP_GT_OQ);
    lowest = _mm256_min_ps(_mm256_blendv_ps(infinity, cost, above), lowest);
  }
  return lowest_of(lowest);
}

// Rows of 32 floats, as in the published models: four registers a row, four rows a turn.
inline void sum_rows_of_32(const float* embeddings, const std::uint32_t* id,
                           const std::uint32_t* end, float* out) {
  __m256 sum[4];
  unroll<4>([&](auto v) { sum[v] = _mm256_setzero_ps(); });
  const auto add_row = [&](std::uint32_t row) __attribute__((always_inline)) {
    const float* piece = embeddings + std::ptrdiff_t{row} * (4 * kLanes);
    unroll<4>([&](auto v) { sum[v] = _mm256_add_ps(sum[v], _mm256_loadu_ps(piece + v * kLanes)); });
  };
  for (; end - id >= 4; id += 4) unroll<4>([&](auto k) { add_row(id[k]); });
  for (; id < end; ++id) add_row(*id);
  unroll<4>([&](auto v) { _mm256_storeu_ps(out + v * kLanes, sum[v]); });
}

}  // namespace

void add(const float* a, const float* b, int width, float* out) {
  for (int i = 0; i < width; i += kLanes) {
    _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
  }
}

void sum_embeddings(const float* embeddings, int width, const std::uint32_t* offsets,
                    const std::uint32_t* ids, int shards, float* out) {
  for (int shard = 0; shard < shards; ++shard, out += width) {
    const std::uint32_t* first = ids + offsets[shard];
    const std::uint32_t* end = ids + offsets[shard + 1];
    if (width == 4 * kLanes) {
      sum_rows_of_32(embeddings, first, end, out);
      continue;
    }
    for (int column = 0; column < width; column += kLanes) {
      __m256 sum = _mm256_setzero_ps();
      for (const std::uint32_t* id = first; id < end; ++id) {
        sum =
            _mm256_add_ps(sum, _mm256_loadu_ps(embeddings + std::ptrdiff_t{*id} * width + column));
      }
      _mm256_storeu_ps(out + column, sum);
    }
  }
}

// Usually the cheapest device has room, so room is looked at only where the cost is lowest; if
// there is none, at the next lowest cost, and so on, and after a few of those in one pass over all.
int choose_device(const float* cost_ms, const std::int64_t* memory, const std::int64_t* dim_sum,
                  int devices, std::int64_t max_memory, std::int64_t max_dim_sum) {
  constexpr int kTries = 3;
  float cost = -__builtin_inff();
  for (int tries = 0; tries < kTries; ++tries) {
    cost = lowest_above(cost, cost_ms, devices);
    if (cost == __builtin_inff()) return -1;
    const int best = best_at_cost(cost, cost_ms, memory, dim_sum, devices, max_memory, max_dim_sum);
    if (best >= 0) return best;
  }
  int best = -1;
  for (int d = 0; d < devices; ++d) {
    if (memory[d] > max_memory || dim_sum[d] > max_dim_sum || !(cost_ms[d] > cost)) continue;
    if (!(cost_ms[d] < __builtin_inff())) continue;
    if (best < 0 || cost_ms[d] < cost_ms[best] ||
        (cost_ms[d] == cost_ms[best] && memory[d] < memory[best])) {
      best = d;
    }
  }
  return best;
}

}  // namespace neuroshard::avx2
