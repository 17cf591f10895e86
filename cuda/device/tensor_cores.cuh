#pragma once

#include <cmath>

#include "cuda/device/warp.cuh"

namespace neuroshard::gpu {

/// Products on tensor cores at nearly the accuracy of fp32: a number is split into two of TF32 (a
/// significand of 11 bits each), x = high + low, and a product into three. The term that is left
/// out, low * low, is 2^-22 of the product. Tests on the CPU carry out the same steps (`#else`
/// below).

/// Rounded to TF32: to nearest, halves away from 0, as fp32 bits.
__device__ inline unsigned to_tf32(float x) {
#ifdef __CUDACC__
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
#else
  // 13 bits of the significand go. A carry into the exponent is right too.
  const unsigned bits = __float_as_uint(x);
  return (bits + 0x1000U) & 0xFFFFE000U;
#endif
}

struct SplitFloat {
  unsigned high;
  unsigned low;
};

__device__ inline SplitFloat split_for_tensor_cores(float x) {
  const unsigned high = to_tf32(x);
  return {high, to_tf32(x - __uint_as_float(high))};
}

/// A tile of 16 rows and 8 columns of sums, 4 a lane: with g = lane / 4 and t = lane % 4, lane
/// holds (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1).
struct alignas(16) TileSums {
  float at[4];
};

/// 16 rows by 8 inputs: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4).
struct TileInputs {
  unsigned at[4];
};

/// 8 inputs by 8 columns: (t, g), (t + 4, g).
struct TileWeights {
  unsigned at[2];
};

/// inputs * weights + before, by a warp: mma.m16n8k8 of the PTX manual, whose fragments the structs
/// above are.
__device__ inline TileSums multiply_add_tile(const TileInputs& inputs, const TileWeights& weights,
                                             const TileSums& before) {
  TileSums sums;
#ifdef __CUDACC__
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(sums.at[0]), "=f"(sums.at[1]), "=f"(sums.at[2]), "=f"(sums.at[3])
      : "r"(inputs.at[0]), "r"(inputs.at[1]), "r"(inputs.at[2]), "r"(inputs.at[3]),
        "r"(weights.at[0]), "r"(weights.at[1]), "f"(before.at[0]), "f"(before.at[1]),
        "f"(before.at[2]), "f"(before.at[3]));
#else
  // Products of TF32 numbers are exact in fp64. The hardware's sums are not specified to the bit:
  // here they are exact until they are cut off (not rounded) to fp32, which is at least as bad.
  const int row = lane_index() / 4;
  const int column = lane_index() % 4 * 2;
  double total[4] = {before.at[0], before.at[1], before.at[2], before.at[3]};
  for (int k = 0; k < 8; ++k) {
    const int half = k / 4;
    double x[2];
    double w[2];
    for (int i = 0; i < 2; ++i) {
      const int holder_of_x = row * 4 + k % 4;
      const int holder_of_w = (column + i) * 4 + k % 4;
      // Every lane gives both of its halves; no branch may keep one from a shuffle.
      x[i] = __uint_as_float(__shfl_sync(kAllLanes, inputs.at[2 * half + i], holder_of_x));
      w[i] = __uint_as_float(__shfl_sync(kAllLanes, weights.at[half], holder_of_w));
    }
    for (int i = 0; i < 4; ++i) total[i] += x[i / 2] * w[i % 2];
  }
  for (int i = 0; i < 4; ++i) {
    float cut = static_cast<float>(total[i]);
    if (std::abs(static_cast<double>(cut)) > std::abs(total[i])) cut = std::nextafter(cut, 0.0F);
    sums.at[i] = cut;
  }
#endif
  return sums;
}

}  // namespace neuroshard::gpu
