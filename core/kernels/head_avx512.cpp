#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/kernels_avx512.h"
#include "core/kernels/row_tiles.h"
#include "core/kernels/unroll.h"
#include "neuroshard/published_sizes.h"

namespace neuroshard::avx512 {
namespace {

constexpr int kHidden = kPublishedHeadHidden;
constexpr int kSumWidth = kPublishedEmbedding;
static_assert(kHidden == 4 * kWide && kSumWidth == 2 * kWide, "registers as below");
constexpr int kTileRows = 6;

inline __m512 rectified(__m512 x) { return _mm512_max_ps(x, _mm512_setzero_ps()); }

// The partial sums of docs/arithmetic.md, rule 3, of 64 hidden units, added at distance 16.
inline __m512 sum_at_16(const PackedLayerView& output, const __m512 (&hidden)[4]) {
  __m512 half[2];
  unroll<2>([&](auto h) {
    const __m512 first = _mm512_fmadd_ps(_mm512_load_ps(output.weight + h * kWide),
                                         rectified(hidden[h]), _mm512_setzero_ps());
    half[h] = _mm512_fmadd_ps(_mm512_load_ps(output.weight + (h + 2) * kWide),
                              rectified(hidden[h + 2]), first);
  });
  return _mm512_add_ps(half[0], half[1]);
}

// The rest of the butterfly, for up to eight rows at once: each addition serves two, then four,
// then eight of them. Row r ends in lane r.
template <int kRows>
inline __m256 sums_at_1(const __m512 (&row)[kRows]) {
  constexpr auto kLast = kRows - 1;
  const auto at_8 = [&](int r) {  // Adds up rows r and r + 1, half a register each.
    const __m512 a = row[r < kRows ? r : kLast];
    const __m512 b = row[r + 1 < kRows ? r + 1 : kLast];
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  };
  const auto at_4 = [&](__m512 ab, __m512 cd) {  // Adds up four rows, a quarter each.
    return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
  };
  const __m512 abcd = at_4(at_8(0), at_8(2));
  const __m512 efgh = kRows > 4 ? at_4(at_8(4), at_8(6)) : abcd;
  const __m512 at_2 =
      _mm512_add_ps(_mm512_shuffle_ps(abcd, efgh, 0x44), _mm512_shuffle_ps(abcd, efgh, 0xEE));
  const __m512 at_1 =
      _mm512_add_ps(_mm512_shuffle_ps(at_2, at_2, 0x88), _mm512_shuffle_ps(at_2, at_2, 0xDD));
  // Every quarter holds a and e, b and f, ... in its first two lanes.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castps512_ps256(_mm512_permutexvar_ps(order, at_1));
}

// 64 hidden units, several rows. `meanwhile(quarter)` runs before each quarter of the inputs: its
// loads cost little, because enough multiply-adds wait in line.
template <int kRows, typename Meanwhile>
inline void score_rows_64(const PackedLayerView& hidden, const PackedLayerView& output,
                          const float* in, int in_stride, float* out, Meanwhile&& meanwhile) {
  __m512 sum[kRows][4];
  unroll<4>([&](auto v) {
    const __m512 bias = _mm512_load_ps(hidden.bias + v * kWide);
    unroll<kRows>([&](auto r) { sum[r][v] = bias; });
  });
  const float* weight = hidden.weight;
  int i = 0;
  unroll<4>([&](auto quarter) {
    meanwhile(quarter);
    for (const int end = hidden.inputs * (quarter + 1) / 4; i < end; ++i, weight += kHidden) {
      __m512 w[4];
      unroll<4>([&](auto v) { w[v] = _mm512_load_ps(weight + v * kWide); });
      unroll<kRows>([&](auto r) {
        const __m512 x = _mm512_set1_ps(in[std::ptrdiff_t{r} * in_stride + i]);
        unroll<4>([&](auto v) { sum[r][v] = _mm512_fmadd_ps(w[v], x, sum[r][v]); });
      });
    }
  });
  __m512 at_16[kRows];
  unroll<kRows>([&](auto r) { at_16[r] = sum_at_16(output, sum[r]); });
  const __m256 cost = _mm256_add_ps(sums_at_1(at_16), _mm256_set1_ps(output.bias[0]));
  _mm256_mask_storeu_ps(out, static_cast<__mmask8>((1 << kRows) - 1), cost);
}

template <int kRows>
inline void score_rows_64(const PackedLayerView& hidden, const PackedLayerView& output,
                          const float* in, int in_stride, float* out) {
  score_rows_64<kRows>(hidden, output, in, in_stride, out,
                       [](auto) __attribute__((always_inline)){});
}

// out = the sum of the rows [id, end) of `embeddings`, in their order.
inline void sum_rows_of_32(const float* embeddings, const std::uint32_t* id,
                           const std::uint32_t* end, float* out) {
  __m512 low = _mm512_setzero_ps();
  __m512 high = _mm512_setzero_ps();
  for (; id < end; ++id) {
    const float* row = embeddings + std::ptrdiff_t{*id} * kSumWidth;
    low = _mm512_add_ps(low, _mm512_loadu_ps(row));
    high = _mm512_add_ps(high, _mm512_loadu_ps(row + kWide));
  }
  _mm512_store_ps(out, low);
  _mm512_store_ps(out + kWide, high);
}

}  // namespace

void two_layer_head(const PackedLayerView& hidden, const PackedLayerView& output, const float* in,
                    int in_stride, int rows, float* out) {
  if (hidden.outputs != kHidden) {
    return avx2::two_layer_head(hidden, output, in, in_stride, rows, out);
  }
  for_row_tiles<kTileRows>(rows, [&](auto tile, int first) {
    score_rows_64<tile>(hidden, output, in + std::ptrdiff_t{first} * in_stride, in_stride,
                        out + first);
  });
}

// A tile of six shards goes through the head while the embeddings of the next six are summed.
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
        hidden, output, now, kSumWidth,
        out + shard, [&](auto quarter) __attribute__((always_inline)) {
          // Rows 0 and 1, then 2, then 3 and 4, then 5.
          constexpr int kFirst = (quarter * 3 + 1) / 2;
          constexpr int kEnd = ((quarter + 1) * 3 + 1) / 2;
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

float add_and_score(const PackedLayerView& hidden, const PackedLayerView& output, const float* sum,
                    const float* piece, int width, float* new_sum) {
  if (hidden.outputs != kHidden) {
    return avx2::add_and_score(hidden, output, sum, piece, width, new_sum);
  }
  avx2::add(sum, piece, width, new_sum);
  float cost_ms;
  score_rows_64<1>(hidden, output, new_sum, width, &cost_ms);
  return cost_ms;
}

}  // namespace neuroshard::avx512
