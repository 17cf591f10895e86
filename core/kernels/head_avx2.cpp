#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/row_tiles.h"
#include "core/kernels/sum_rows_avx2.h"
#include "core/kernels/unroll.h"
#include "neuroshard/published_sizes.h"

namespace neuroshard::avx2 {
namespace {

constexpr int kHidden = kPublishedHeadHidden;
constexpr int kSumWidth = kPublishedEmbedding;
static_assert(kHidden == 8 * kLanes && kSumWidth == 4 * kLanes, "registers as below");

inline __m256 rectified(__m256 x) { return _mm256_max_ps(x, _mm256_setzero_ps()); }

// The 32 partial sums of docs/arithmetic.md, rule 3, added pairwise at distance 16, 8, 4, 2, 1.
inline float butterfly_sum(__m256 p0, __m256 p1, __m256 p2, __m256 p3) {
  const __m256 by_8 = _mm256_add_ps(_mm256_add_ps(p0, p2), _mm256_add_ps(p1, p3));
  const __m128 by_4 = _mm_add_ps(_mm256_castps256_ps128(by_8), _mm256_extractf128_ps(by_8, 1));
  const __m128 by_2 = _mm_add_ps(by_4, _mm_movehl_ps(by_4, by_4));
  return _mm_cvtss_f32(_mm_add_ss(by_2, _mm_movehdup_ps(by_2)));
}

// Registers j, j + 4, j + 8, ... of the hidden units feed partial sum j. The hidden units never
// leave the registers. Any number of hidden units.
inline float score_row(const PackedLayerView& hidden, const PackedLayerView& output,
                       const float* in) {
  const int width = padded_width(hidden.outputs);
  __m256 partial[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                       _mm256_setzero_ps()};
  for (int v = 0; v < width / kLanes; ++v) {
    const float* weight = hidden.weight + v * kLanes;
    __m256 sum = _mm256_load_ps(hidden.bias + v * kLanes);
    for (int i = 0; i < hidden.inputs; ++i, weight += width) {
      sum = _mm256_fmadd_ps(_mm256_load_ps(weight), _mm256_broadcast_ss(in + i), sum);
    }
    partial[v % 4] =
        _mm256_fmadd_ps(_mm256_load_ps(output.weight + v * kLanes), rectified(sum), partial[v % 4]);
  }
  return butterfly_sum(partial[0], partial[1], partial[2], partial[3]) + output.bias[0];
}

// 64 hidden units, several rows: one pass over the weights per pair of registers (j, j + 4).
// `meanwhile(j)` runs before each pass: what it does on other ports than FMA's costs little,
// because enough multiply-adds wait in line.
template <int kRows, typename Meanwhile>
inline void score_rows_64(const PackedLayerView& hidden, const PackedLayerView& output,
                          const float* in, int in_stride, float* out, Meanwhile&& meanwhile) {
  __m256 partial[4][kRows];
  unroll<4>([&](auto j) {
    meanwhile(j);
    const float* weight = hidden.weight + j * kLanes;
    __m256 low[kRows];
    __m256 high[kRows];
    unroll<kRows>([&](auto r) {
      low[r] = _mm256_load_ps(hidden.bias + j * kLanes);
      high[r] = _mm256_load_ps(hidden.bias + (j + 4) * kLanes);
    });
    for (int i = 0; i < hidden.inputs; ++i, weight += kHidden) {
      const __m256 w_low = _mm256_load_ps(weight);
      const __m256 w_high = _mm256_load_ps(weight + 4 * kLanes);
      unroll<kRows>([&](auto r) {
        const __m256 x = _mm256_broadcast_ss(in + std::ptrdiff_t{r} * in_stride + i);
        low[r] = _mm256_fmadd_ps(w_low, x, low[r]);
        high[r] = _mm256_fmadd_ps(w_high, x, high[r]);
      });
    }
    const __m256 w_low = _mm256_load_ps(output.weight + j * kLanes);
    const __m256 w_high = _mm256_load_ps(output.weight + (j + 4) * kLanes);
    unroll<kRows>([&](auto r) {
      const __m256 first = _mm256_fmadd_ps(w_low, rectified(low[r]), _mm256_setzero_ps());
      partial[j][r] = _mm256_fmadd_ps(w_high, rectified(high[r]), first);
    });
  });
  unroll<kRows>([&](auto r) {
    out[r] =
        butterfly_sum(partial[0][r], partial[1][r], partial[2][r], partial[3][r]) + output.bias[0];
  });
}

template <int kRows>
inline void score_rows_64(const PackedLayerView& hidden, const PackedLayerView& output,
                          const float* in, int in_stride, float* out) {
  score_rows_64<kRows>(hidden, output, in, in_stride, out,
                       [](auto) __attribute__((always_inline)){});
}

// 64 hidden units, one row: all units at once, since eight sums are needed to hide the latency of
// FMA. Weights come straight from the cache.
inline float score_row_64(const PackedLayerView& hidden, const PackedLayerView& output,
                          const float* in) {
  const float* weight = hidden.weight;
  __m256 sum[8];
  unroll<8>([&](auto v) { sum[v] = _mm256_load_ps(hidden.bias + v * kLanes); });
  for (int i = 0; i < hidden.inputs; ++i, weight += 8 * kLanes) {
    const __m256 x = _mm256_broadcast_ss(in + i);
    unroll<8>(
        [&](auto v) { sum[v] = _mm256_fmadd_ps(_mm256_load_ps(weight + v * kLanes), x, sum[v]); });
  }
  __m256 partial[4];
  unroll<4>([&](auto j) {
    const __m256 first = _mm256_fmadd_ps(_mm256_load_ps(output.weight + j * kLanes),
                                         rectified(sum[j]), _mm256_setzero_ps());
    partial[j] = _mm256_fmadd_ps(_mm256_load_ps(output.weight + (j + 4) * kLanes),
                                 rectified(sum[j + 4]), first);
  });
  return butterfly_sum(partial[0], partial[1], partial[2], partial[3]) + output.bias[0];
}

constexpr int kTileRows = 6;

}  // namespace

// A tile of six shards goes through the head while the embeddings of the next six are summed: the
// sums need load and add ports, of which the head leaves enough.
void score_published_shards(const PackedLayerView& hidden, const PackedLayerView& output,
                            const float* embeddings, const std::uint32_t* offsets,
                            const std::uint32_t* ids, int shards, float* out) {
  alignas(64) float sums[2][kTileRows * kSumWidth];
  const auto sum = [&](int shard, float* tile, int row) __attribute__((always_inline)) {
    sum_rows_of_32(embeddings, ids + offsets[shard], ids + offsets[shard + 1],
                   tile + std::ptrdiff_t{row} * kSumWidth);
  };
  int shard = 0;
  float* now = sums[0];
  float* next = sums[1];
  if (shards >= kTileRows) {
    for (int row = 0; row < kTileRows; ++row) sum(row, now, row);
  }
  for (; shards - shard >= 2 * kTileRows; shard += kTileRows) {
    score_rows_64<kTileRows>(
        hidden, output, now, kSumWidth, out + shard, [&](auto j) __attribute__((always_inline)) {
          // Rows 0 and 1, then 2, then 3 and 4, then 5.
          constexpr int kFirst = (j * 3 + 1) / 2;
          constexpr int kEnd = ((j + 1) * 3 + 1) / 2;
          for (int row = kFirst; row < kEnd; ++row) {
            sum(shard + kTileRows + row, next, row);
          }
        });
    float* const done = now;
    now = next;
    next = done;
  }
  if (shards >= kTileRows) {
    score_rows_64<kTileRows>(hidden, output, now, kSumWidth, out + shard);
    shard += kTileRows;
  }
  for (int row = 0; row < shards - shard; ++row) sum(shard + row, now, row);
  two_layer_head(hidden, output, now, kSumWidth, shards - shard, out + shard);
}

void one_output_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows,
                      bool relu, float* out, int out_stride) {
  const int vectors = padded_width(layer.inputs) / kLanes;
  for (int row = 0; row < rows; ++row) {
    const float* x = in + std::ptrdiff_t{row} * in_stride;
    __m256 partial[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                         _mm256_setzero_ps()};
    for (int v = 0; v < vectors; ++v) {
      partial[v % 4] = _mm256_fmadd_ps(_mm256_load_ps(layer.weight + v * kLanes),
                                       _mm256_loadu_ps(x + v * kLanes), partial[v % 4]);
    }
    const float y = butterfly_sum(partial[0], partial[1], partial[2], partial[3]) + layer.bias[0];
    out[std::ptrdiff_t{row} * out_stride] = relu ? (y > 0.0F ? y : 0.0F) : y;
  }
}

void two_layer_head(const PackedLayerView& hidden, const PackedLayerView& output, const float* in,
                    int in_stride, int rows, float* out) {
  if (hidden.outputs != kHidden) {
    for (; rows > 0; --rows, in += in_stride) *out++ = score_row(hidden, output, in);
    return;
  }
  for_row_tiles<kTileRows>(rows, [&](auto tile, int first) {
    const float* const x = in + std::ptrdiff_t{first} * in_stride;
    if constexpr (tile == 1) {
      out[first] = score_row_64(hidden, output, x);
    } else {
      score_rows_64<tile>(hidden, output, x, in_stride, out + first);
    }
  });
}

float add_and_score(const PackedLayerView& hidden, const PackedLayerView& output, const float* sum,
                    const float* piece, int width, float* new_sum) {
  add(sum, piece, width, new_sum);
  return hidden.outputs == kHidden ? score_row_64(hidden, output, new_sum)
                                   : score_row(hidden, output, new_sum);
}

}  // namespace neuroshard::avx2
