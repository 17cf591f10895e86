#pragma once

#include <cstdint>

#include "core/kernels/cpu_kernels.h"

// Files named *_avx512.cpp are the only ones compiled for AVX-512 (F, VL, DQ, BW); what
// kernels_avx2.h says of its files holds for them too.
namespace neuroshard::avx512 {

/// Floats of a register. Rows are padded to kLanes only, so the last half of one may be missing.
inline constexpr int kWide = 16;

void dense_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows, bool relu,
                 float* out, int out_stride);
void two_layer_head(const PackedLayerView& hidden, const PackedLayerView& output, const float* in,
                    int in_stride, int rows, float* out);
void mlp_columns(const PackedLayerView* layers, int count, const float* in, int in_stride, int rows,
                 float* const (&scratch)[2], float* out);
void score_published_shards(const PackedLayerView& hidden, const PackedLayerView& output,
                            const float* embeddings, const std::uint32_t* offsets,
                            const std::uint32_t* ids, int shards, float* out);
float add_and_score(const PackedLayerView& hidden, const PackedLayerView& output, const float* sum,
                    const float* piece, int width, float* new_sum);

}  // namespace neuroshard::avx512
