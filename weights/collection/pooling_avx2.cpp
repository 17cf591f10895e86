#include <immintrin.h>

#include "core/kernels/row_tiles.h"
#include "weights/collection/pooling_kernels.h"

namespace neuroshard {
namespace {

constexpr int kLanes = 8;
// Rows are fetched this many lookups ahead: memory takes about as long as the sums of so many.
constexpr std::int64_t kAhead = 8;

// `kRegisters` registers of one sum stay in registers over all lookups. `row_of(i)` is where row i
// of the sum starts.
template <int kRegisters, typename RowOf>
inline void sum_columns(std::int64_t count, RowOf row_of, __m256 (&sum)[kRegisters]) {
  for (int r = 0; r < kRegisters; ++r) sum[r] = _mm256_setzero_ps();
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const float* ahead = row_of(i + kAhead);
      for (int r = 0; r < kRegisters; r += 2) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead + r * kLanes), _MM_HINT_T0);
      }
    }
    const float* row = row_of(i);
    for (int r = 0; r < kRegisters; ++r) {
      sum[r] = _mm256_add_ps(sum[r], _mm256_loadu_ps(row + r * kLanes));
    }
  }
}

template <typename RowOf>
inline __m128 sum_four_columns(std::int64_t count, RowOf row_of) {
  __m128 sum = _mm_setzero_ps();
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      _mm_prefetch(reinterpret_cast<const char*>(row_of(i + kAhead)), _MM_HINT_T0);
    }
    sum = _mm_add_ps(sum, _mm_loadu_ps(row_of(i)));
  }
  return sum;
}

template <int kRegisters>
inline void sum_chunk(const float* weights, const std::int64_t* indices, std::int64_t count,
                      int dim, float* out) {
  __m256 sum[kRegisters];
  sum_columns<kRegisters>(
      count, [=](std::int64_t i) { return weights + indices[i] * dim; }, sum);
  for (int r = 0; r < kRegisters; ++r) _mm256_storeu_ps(out + r * kLanes, sum[r]);
}

// Calls `chunk(registers, column)` for the columns in chunks of so many registers, 8 at most, then
// `four(column)` if there are four columns more.
template <typename Chunk, typename Four>
inline void for_columns(int dim, Chunk chunk, Four four) {
  for_row_tiles<8>(
      dim / kLanes, [&](auto registers, int first)
                        __attribute__((always_inline)) { chunk(registers, first * kLanes); });
  if (dim % kLanes != 0) four(dim - 4);
}

void sum_rows(const float* weights, const std::int64_t* indices, std::int64_t count, int dim,
              float* out) {
  for_columns(
      dim,
      [=](auto registers, int column) {
        sum_chunk<registers>(weights + column, indices, count, dim, out + column);
      },
      [=](int column) {
        const float* first = weights + column;
        _mm_storeu_ps(out + column, sum_four_columns(count, [=](std::int64_t i) {
                        return first + indices[i] * dim;
                      }));
      });
}

template <int kRegisters>
inline void update_chunk(const float* gradients, std::int64_t stride, const Lookup* lookups,
                         std::int64_t count, float learning_rate, float* row) {
  __m256 sum[kRegisters];
  sum_columns<kRegisters>(
      count, [=](std::int64_t i) { return gradients + lookups[i].sample * stride; }, sum);
  const __m256 rate = _mm256_set1_ps(learning_rate);
  for (int r = 0; r < kRegisters; ++r) {
    const __m256 step = _mm256_mul_ps(rate, sum[r]);
    _mm256_storeu_ps(row + r * kLanes, _mm256_sub_ps(_mm256_loadu_ps(row + r * kLanes), step));
  }
}

void update_row(const float* gradients, std::int64_t stride, const Lookup* lookups,
                std::int64_t count, int dim, float learning_rate, float* row) {
  for_columns(
      dim,
      [=](auto registers, int column) {
        update_chunk<registers>(gradients + column, stride, lookups, count, learning_rate,
                                row + column);
      },
      [=](int column) {
        const float* first = gradients + column;
        const __m128 sum = sum_four_columns(
            count, [=](std::int64_t i) { return first + lookups[i].sample * stride; });
        const __m128 step = _mm_mul_ps(_mm_set1_ps(learning_rate), sum);
        _mm_storeu_ps(row + column, _mm_sub_ps(_mm_loadu_ps(row + column), step));
      });
}

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }

}  // namespace

const PoolingKernels kAvx2Pooling = {"avx2", has_avx2, sum_rows, update_row};

}  // namespace neuroshard
