// The only file compiled with -mavx2 -mfma. It includes little, and everything in it has internal
// linkage: the linker must never keep an AVX2 copy of an inline function that old CPUs call too.
#include <immintrin.h>

#include <cstddef>

#include "core/cpu_kernels.h"

namespace neuroshard {
namespace {

// A tile of kRows rows times kVectors registers of outputs: every weight that is loaded serves
// kRows rows. With 6 x 2 there are 12 sums, enough to hide the latency of FMA, in 16 registers.
template <int kRows, int kVectors>
inline void accumulate_tile(const float* in, int in_stride, int inputs, const float* weight,
                            int weight_stride, const float* bias, __m256 (&acc)[kRows][kVectors]) {
  for (int v = 0; v < kVectors; ++v) {
    const __m256 b = _mm256_loadu_ps(bias + v * kLanes);
    for (int r = 0; r < kRows; ++r) acc[r][v] = b;
  }
  for (int i = 0; i < inputs; ++i) {
    __m256 w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = _mm256_loadu_ps(weight + v * kLanes);
    weight += weight_stride;
    for (int r = 0; r < kRows; ++r) {
      const __m256 x = _mm256_broadcast_ss(in + static_cast<std::ptrdiff_t>(r) * in_stride + i);
      for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm256_fmadd_ps(w[v], x, acc[r][v]);
    }
  }
}

inline __m256 rectified(__m256 x) { return _mm256_max_ps(x, _mm256_setzero_ps()); }

template <int kRows, int kVectors>
inline void dense_tile(const LayerView& layer, int column, const float* in, int in_stride,
                       bool relu, float* out, int out_stride) {
  const int weight_stride = padded_width(layer.outputs);
  __m256 acc[kRows][kVectors];
  accumulate_tile<kRows, kVectors>(in, in_stride, layer.inputs, layer.weight + column,
                                   weight_stride, layer.bias + column, acc);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      _mm256_storeu_ps(out + static_cast<std::ptrdiff_t>(r) * out_stride + column + v * kLanes,
                       relu ? rectified(acc[r][v]) : acc[r][v]);
    }
  }
}

// Few rows leave registers free for more columns.
template <int kRows>
inline void dense_rows(const LayerView& layer, const float* in, int in_stride, bool relu,
                       float* out, int out_stride) {
  constexpr int kWide = kRows == 1 ? 8 : kRows <= 3 ? 4 : 2;
  const int width = padded_width(layer.outputs);
  int column = 0;
  for (; column + kWide * kLanes <= width; column += kWide * kLanes) {
    dense_tile<kRows, kWide>(layer, column, in, in_stride, relu, out, out_stride);
  }
  if constexpr (kWide > 2) {
    for (; column + 2 * kLanes <= width; column += 2 * kLanes) {
      dense_tile<kRows, 2>(layer, column, in, in_stride, relu, out, out_stride);
    }
  }
  for (; column < width; column += kLanes) {
    dense_tile<kRows, 1>(layer, column, in, in_stride, relu, out, out_stride);
  }
}

void dense_layer(const LayerView& layer, const float* in, int in_stride, int rows, bool relu,
                 float* out, int out_stride) {
  while (rows >= 6) {
    dense_rows<6>(layer, in, in_stride, relu, out, out_stride);
    in += static_cast<std::ptrdiff_t>(6) * in_stride;
    out += static_cast<std::ptrdiff_t>(6) * out_stride;
    rows -= 6;
  }
  switch (rows) {
    case 5:
      return dense_rows<5>(layer, in, in_stride, relu, out, out_stride);
    case 4:
      return dense_rows<4>(layer, in, in_stride, relu, out, out_stride);
    case 3:
      return dense_rows<3>(layer, in, in_stride, relu, out, out_stride);
    case 2:
      return dense_rows<2>(layer, in, in_stride, relu, out, out_stride);
    case 1:
      return dense_rows<1>(layer, in, in_stride, relu, out, out_stride);
    default:
      return;
  }
}

// The 32 partial sums of docs/arithmetic.md, rule 3, added pairwise at distance 16, 8, 4, 2, 1.
inline float butterfly_sum(__m256 p0, __m256 p1, __m256 p2, __m256 p3) {
  const __m256 by_8 = _mm256_add_ps(_mm256_add_ps(p0, p2), _mm256_add_ps(p1, p3));
  const __m128 by_4 = _mm_add_ps(_mm256_castps256_ps128(by_8), _mm256_extractf128_ps(by_8, 1));
  const __m128 by_2 = _mm_add_ps(by_4, _mm_movehl_ps(by_4, by_4));
  return _mm_cvtss_f32(_mm_add_ss(by_2, _mm_movehdup_ps(by_2)));
}

void one_output_layer(const LayerView& layer, const float* in, int in_stride, int rows, bool relu,
                      float* out, int out_stride) {
  const int vectors = padded_width(layer.inputs) / kLanes;
  for (int row = 0; row < rows; ++row) {
    const float* x = in + static_cast<std::ptrdiff_t>(row) * in_stride;
    __m256 partial[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                         _mm256_setzero_ps()};
    for (int v = 0; v < vectors; ++v) {
      partial[v % 4] = _mm256_fmadd_ps(_mm256_load_ps(layer.weight + v * kLanes),
                                       _mm256_loadu_ps(x + v * kLanes), partial[v % 4]);
    }
    const float y = butterfly_sum(partial[0], partial[1], partial[2], partial[3]) + layer.bias[0];
    out[static_cast<std::ptrdiff_t>(row) * out_stride] = relu ? (y > 0.0F ? y : 0.0F) : y;
  }
}

// Registers j, j + 4, j + 8, ... of the hidden units feed partial sum j. The hidden units never
// leave the registers.
template <int kRows>
inline void head_rows(const LayerView& hidden, const LayerView& output, const float* in,
                      int in_stride, float* out) {
  const int width = padded_width(hidden.outputs);
  const int vectors = width / kLanes;
  __m256 partial[4][kRows];
  for (int j = 0; j < 4; ++j) {
    for (int r = 0; r < kRows; ++r) partial[j][r] = _mm256_setzero_ps();
    for (int v = j; v < vectors; v += 4) {
      __m256 acc[kRows][1];
      accumulate_tile<kRows, 1>(in, in_stride, hidden.inputs, hidden.weight + v * kLanes, width,
                                hidden.bias + v * kLanes, acc);
      const __m256 w = _mm256_load_ps(output.weight + v * kLanes);
      for (int r = 0; r < kRows; ++r) {
        partial[j][r] = _mm256_fmadd_ps(w, rectified(acc[r][0]), partial[j][r]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    out[r] =
        butterfly_sum(partial[0][r], partial[1][r], partial[2][r], partial[3][r]) + output.bias[0];
  }
}

// As head_rows, for 64 hidden units: one pass over the weights per pair of registers (j, j + 4).
template <int kRows>
inline void head_rows_64(const LayerView& hidden, const LayerView& output, const float* in,
                         int in_stride, float* out) {
  constexpr int kWidth = 64;
  const __m256 zero = _mm256_setzero_ps();
  __m256 partial[4][kRows];
  for (int j = 0; j < 4; ++j) {
    const float* weight = hidden.weight + j * kLanes;
    __m256 low[kRows];
    __m256 high[kRows];
    for (int r = 0; r < kRows; ++r) {
      low[r] = _mm256_load_ps(hidden.bias + j * kLanes);
      high[r] = _mm256_load_ps(hidden.bias + (j + 4) * kLanes);
    }
    for (int i = 0; i < hidden.inputs; ++i) {
      const __m256 w_low = _mm256_load_ps(weight);
      const __m256 w_high = _mm256_load_ps(weight + 4 * kLanes);
      weight += kWidth;
      for (int r = 0; r < kRows; ++r) {
        const __m256 x = _mm256_broadcast_ss(in + static_cast<std::ptrdiff_t>(r) * in_stride + i);
        low[r] = _mm256_fmadd_ps(w_low, x, low[r]);
        high[r] = _mm256_fmadd_ps(w_high, x, high[r]);
      }
    }
    const __m256 w_low = _mm256_load_ps(output.weight + j * kLanes);
    const __m256 w_high = _mm256_load_ps(output.weight + (j + 4) * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const __m256 first = _mm256_fmadd_ps(w_low, rectified(low[r]), zero);
      partial[j][r] = _mm256_fmadd_ps(w_high, rectified(high[r]), first);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    out[r] =
        butterfly_sum(partial[0][r], partial[1][r], partial[2][r], partial[3][r]) + output.bias[0];
  }
}

// One row: all 64 hidden units at once, since eight sums are needed to hide the latency of FMA.
inline void head_row_64(const LayerView& hidden, const LayerView& output, const float* in,
                        float* out) {
  __m256 acc[1][8];
  accumulate_tile<1, 8>(in, 0, hidden.inputs, hidden.weight, 64, hidden.bias, acc);
  __m256 partial[4];
  for (int j = 0; j < 4; ++j) {
    const __m256 first = _mm256_fmadd_ps(_mm256_load_ps(output.weight + j * kLanes),
                                         rectified(acc[0][j]), _mm256_setzero_ps());
    partial[j] = _mm256_fmadd_ps(_mm256_load_ps(output.weight + (j + 4) * kLanes),
                                 rectified(acc[0][j + 4]), first);
  }
  out[0] = butterfly_sum(partial[0], partial[1], partial[2], partial[3]) + output.bias[0];
}

void two_layer_head(const LayerView& hidden, const LayerView& output, const float* in,
                    int in_stride, int rows, float* out) {
  if (hidden.outputs == 64) {
    for (; rows >= 6; rows -= 6, in += static_cast<std::ptrdiff_t>(6) * in_stride, out += 6) {
      head_rows_64<6>(hidden, output, in, in_stride, out);
    }
    switch (rows) {
      case 5:
        return head_rows_64<5>(hidden, output, in, in_stride, out);
      case 4:
        return head_rows_64<4>(hidden, output, in, in_stride, out);
      case 3:
        return head_rows_64<3>(hidden, output, in, in_stride, out);
      case 2:
        return head_rows_64<2>(hidden, output, in, in_stride, out);
      case 1:
        return head_row_64(hidden, output, in, out);
      default:
        return;
    }
  }
  for (; rows >= 4; rows -= 4, in += static_cast<std::ptrdiff_t>(4) * in_stride, out += 4) {
    head_rows<4>(hidden, output, in, in_stride, out);
  }
  for (; rows > 0; --rows, in += in_stride, ++out) {
    head_rows<1>(hidden, output, in, in_stride, out);
  }
}

void add(const float* a, const float* b, int width, float* out) {
  for (int i = 0; i < width; i += kLanes) {
    _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
  }
}

void sum_embeddings(const float* embeddings, int width, const std::uint32_t* offsets,
                    const std::uint32_t* ids, int shards, float* out) {
  for (int shard = 0; shard < shards; ++shard, out += width) {
    const std::uint32_t first = offsets[shard];
    const std::uint32_t last = offsets[shard + 1];
    int column = 0;
    for (; column + 4 * kLanes <= width; column += 4 * kLanes) {
      __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                       _mm256_setzero_ps()};
      for (std::uint32_t k = first; k < last; ++k) {
        const float* row = embeddings + static_cast<std::ptrdiff_t>(ids[k]) * width + column;
        for (int v = 0; v < 4; ++v)
          sum[v] = _mm256_add_ps(sum[v], _mm256_loadu_ps(row + v * kLanes));
      }
      for (int v = 0; v < 4; ++v) _mm256_storeu_ps(out + column + v * kLanes, sum[v]);
    }
    for (; column < width; column += kLanes) {
      __m256 sum = _mm256_setzero_ps();
      for (std::uint32_t k = first; k < last; ++k) {
        sum = _mm256_add_ps(
            sum,
            _mm256_loadu_ps(embeddings + static_cast<std::ptrdiff_t>(ids[k]) * width + column));
      }
      _mm256_storeu_ps(out + column, sum);
    }
  }
}

// Two passes: the lowest cost among the devices with room, eight at a time; then the few devices
// that have it.
int choose_device(const float* cost_ms, const std::int64_t* memory, const std::int64_t* dim_sum,
                  int devices, std::int64_t max_memory, std::int64_t max_dim_sum) {
  const __m256i memory_limit = _mm256_set1_epi64x(max_memory);
  const __m256i dim_limit = _mm256_set1_epi64x(max_dim_sum);
  const __m128 infinity = _mm_set1_ps(__builtin_inff());
  __m128 lowest = infinity;
  const auto fitting_costs = [&](int d) {
    const __m256i too_large = _mm256_or_si256(
        _mm256_cmpgt_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(memory + d)),
                           memory_limit),
        _mm256_cmpgt_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(dim_sum + d)),
                           dim_limit));
    // The low halves of four 64-bit masks, as four 32-bit masks.
    const __m128 low = _mm_castsi128_ps(_mm256_castsi256_si128(too_large));
    const __m128 high = _mm_castsi128_ps(_mm256_extracti128_si256(too_large, 1));
    const __m128 mask = _mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0));
    return _mm_blendv_ps(_mm_loadu_ps(cost_ms + d), infinity, mask);
  };
  int d = 0;
  for (; d + 4 <= devices; d += 4) lowest = _mm_min_ps(fitting_costs(d), lowest);
  lowest = _mm_min_ps(lowest, _mm_movehl_ps(lowest, lowest));
  lowest = _mm_min_ss(lowest, _mm_movehdup_ps(lowest));
  float best_cost = _mm_cvtss_f32(lowest);
  for (int tail = d; tail < devices; ++tail) {
    if (memory[tail] <= max_memory && dim_sum[tail] <= max_dim_sum && cost_ms[tail] < best_cost) {
      best_cost = cost_ms[tail];
    }
  }
  if (best_cost == __builtin_inff()) return -1;
  int best = -1;
  const auto consider = [&](int device) {
    if (best < 0 || memory[device] < memory[best]) best = device;
  };
  const __m128 wanted = _mm_set1_ps(best_cost);
  for (d = 0; d + 4 <= devices; d += 4) {
    const __m128 costs = fitting_costs(d);
    auto equal = static_cast<unsigned>(_mm_movemask_ps(_mm_cmpeq_ps(costs, wanted)));
    for (; equal != 0; equal &= equal - 1) consider(d + __builtin_ctz(equal));
  }
  for (; d < devices; ++d) {
    if (memory[d] <= max_memory && dim_sum[d] <= max_dim_sum && cost_ms[d] == best_cost)
      consider(d);
  }
  return best;
}

// A function rather than a lambda, whose code the linker could share with other objects.
bool supported() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

}  // namespace

const CpuKernels kAvx2Kernels = {
    .name = "avx2",
    .supported = supported,
    .dense_layer = dense_layer,
    .one_output_layer = one_output_layer,
    .two_layer_head = two_layer_head,
    .add = add,
    .sum_embeddings = sum_embeddings,
    .choose_device = choose_device,
};

}  // namespace neuroshard
