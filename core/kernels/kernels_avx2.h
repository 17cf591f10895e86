#pragma once

#include <cstdint>

#include "core/kernels/cpu_kernels.h"

// Files named *_avx2.cpp are the only ones compiled with -mavx2 -mfma. They include little: the
// linker must never keep an AVX2 copy of a shared inline function that old CPUs call too.
namespace neuroshard::avx2 {

void dense_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows, bool relu,
                 float* out, int out_stride);
void one_output_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows,
                      bool relu, float* out, int out_stride);
void two_layer_head(const PackedLayerView& hidden, const PackedLayerView& output, const float* in,
                    int in_stride, int rows, float* out);
void mlp_columns(const PackedLayerView* layers, int count, const float* in, int in_stride, int rows,
                 float* const (&scratch)[2], float* out);
void score_published_shards(const PackedLayerView& hidden, const PackedLayerView& output,
                            const float* embeddings, const std::uint32_t* offsets,
                            const std::uint32_t* ids, int shards, float* out);
float add_and_score(const PackedLayerView& hidden, const PackedLayerView& output, const float* sum,
                    const float* piece, int width, float* new_sum);
void add(const float* a, const float* b, int width, float* out);
void sum_embeddings(const float* embeddings, int width, const std::uint32_t* offsets,
                    const std::uint32_t* ids, int shards, float* out);
int index_of_lowest(const float* values, int count);
int choose_device(const float* cost_ms, const std::int64_t* memory, const std::int64_t* dim_sum,
                  int devices, std::int64_t max_memory, std::int64_t max_dim_sum);

}  // namespace neuroshard::avx2
