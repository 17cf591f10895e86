#include <immintrin.h>

#include <cstddef>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/sum_rows_avx2.h"
#include "core/kernels/unroll.h"

namespace neuroshard::avx2 {
namespace {

constexpr int kDevicesAtOnce = 4 * kLanes;
constexpr float kInfinity = __builtin_inff();

// The lowest of eight values in every lane.
inline __m256 lowest_everywhere(__m256 x) {
  x = _mm256_min_ps(x, _mm256_permute2f128_ps(x, x, 1));
  x = _mm256_min_ps(x, _mm256_permute_ps(x, 0x4E));
  return _mm256_min_ps(x, _mm256_permute_ps(x, 0xB1));
}

// All ones where a device has no room; eight devices.
inline __m256 without_room(const std::int64_t* memory, const std::int64_t* dim_sum,
                           __m256i max_memory, __m256i max_dim_sum) {
  const auto of_four = [&](int d) {
    const __m256i m = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(memory + d));
    const __m256i s = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(dim_sum + d));
    return _mm256_castsi256_ps(
        _mm256_or_si256(_mm256_cmpgt_epi64(m, max_memory), _mm256_cmpgt_epi64(s, max_dim_sum)));
  };
  // One half of each 64-bit mask: 0 1 4 5 2 3 6 7, then put into order.
  const __m256 mixed = _mm256_shuffle_ps(of_four(0), of_four(4), 0x88);
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xD8));
}

// Up to 32 devices without a branch that depends on their values, unless two are equal. NaN stands
// for a device that cannot be chosen: min_ps returns its second operand if the first is NaN.
template <int kVectors>
inline int choose_among(const float* cost_ms, const std::int64_t* memory,
                        const std::int64_t* dim_sum, std::int64_t max_memory,
                        std::int64_t max_dim_sum) {
  const __m256i memory_bound = _mm256_set1_epi64x(max_memory);
  const __m256i dim_bound = _mm256_set1_epi64x(max_dim_sum);
  const __m256 minus_infinity = _mm256_set1_ps(-kInfinity);
  __m256 cost[kVectors];
  __m256 lowest = _mm256_set1_ps(kInfinity);
  unroll<kVectors>([&](auto v) {
    const int d = v * kLanes;
    const __m256 all = _mm256_loadu_ps(cost_ms + d);
    const __m256 excluded =
        _mm256_or_ps(without_room(memory + d, dim_sum + d, memory_bound, dim_bound),
                     _mm256_cmp_ps(all, minus_infinity, _CMP_EQ_OQ));
    cost[v] = _mm256_or_ps(all, excluded);
    lowest = _mm256_min_ps(cost[v], lowest);
  });
  lowest = lowest_everywhere(lowest);
  if (_mm256_cvtss_f32(lowest) == kInfinity) return -1;
  unsigned lanes = 0;
  unroll<kVectors>([&](auto v) {
    const __m256 equal = _mm256_cmp_ps(cost[v], lowest, _CMP_EQ_OQ);
    lanes |= static_cast<unsigned>(_mm256_movemask_ps(equal)) << (v * kLanes);
  });
  int best = __builtin_ctz(lanes);
  while ((lanes &= lanes - 1) != 0) {
    const int device = __builtin_ctz(lanes);
    if (memory[device] < memory[best]) best = device;
  }
  return best;
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

int index_of_lowest(const float* values, int count) {
  const __m256 minus_infinity = _mm256_set1_ps(-kInfinity);
  __m256 lowest = _mm256_set1_ps(kInfinity);
  const auto eight = [&](int i) {
    const __m256 x = _mm256_loadu_ps(values + i);
    return _mm256_or_ps(x, _mm256_cmp_ps(x, minus_infinity, _CMP_EQ_OQ));
  };
  for (int i = 0; i < count; i += kLanes) lowest = _mm256_min_ps(eight(i), lowest);
  lowest = lowest_everywhere(lowest);
  if (_mm256_cvtss_f32(lowest) == kInfinity) return -1;
  for (int i = 0;; i += kLanes) {
    const int lanes = _mm256_movemask_ps(_mm256_cmp_ps(eight(i), lowest, _CMP_EQ_OQ));
    if (lanes != 0) return i + __builtin_ctz(static_cast<unsigned>(lanes));
  }
}

int choose_device(const float* cost_ms, const std::int64_t* memory, const std::int64_t* dim_sum,
                  int devices, std::int64_t max_memory, std::int64_t max_dim_sum) {
  int best = -1;
  for (int first = 0; first < devices; first += kDevicesAtOnce) {
    const auto among = [&](auto vectors) {
      return choose_among<vectors>(cost_ms + first, memory + first, dim_sum + first, max_memory,
                                   max_dim_sum);
    };
    const int vectors = (devices - first + kLanes - 1) / kLanes;
    const int found = vectors == 1   ? among(std::integral_constant<int, 1>{})
                      : vectors == 2 ? among(std::integral_constant<int, 2>{})
                      : vectors == 3 ? among(std::integral_constant<int, 3>{})
                                     : among(std::integral_constant<int, 4>{});
    if (found < 0) continue;
    const int device = first + found;
    if (best < 0 || cost_ms[device] < cost_ms[best] ||
        (cost_ms[device] == cost_ms[best] && memory[device] < memory[best])) {
      best = device;
    }
  }
  return best;
}

}  // namespace neuroshard::avx2
