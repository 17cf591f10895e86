#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace neuroshard {

/// Floats of an AVX2 register; rows of activations and packed weights are padded to it with zeros.
inline constexpr int kLanes = 8;

[[nodiscard]] constexpr int padded_width(int width) {
  return (width + kLanes - 1) / kLanes * kLanes;
}

/// Rows that CpuKernels::mlp_columns has in flight at once, at most: its scratch memory.
inline constexpr int kColumnBlock = 48;
/// Rows of one register, of the widest ones: rows side by side are padded to it.
inline constexpr int kColumnAlignment = 16;

/// One layer as the CPU kernels read it: outputs side by side, so that a kernel that broadcasts an
/// input walks the weights with unit stride. Padding is 0; both arrays start on a cache line.
struct PackedLayerView {
  int inputs = 0;
  int outputs = 0;
  /// Several outputs: [inputs, padded_width(outputs)]. One output: [padded_width(inputs)].
  const float* weight = nullptr;
  const float* bias = nullptr;  ///< [padded_width(outputs)]
};

/// The arithmetic of the CPU backends, one table of functions per instruction set. The order of
/// operations is fixed by docs/arithmetic.md; all implementations agree bit for bit.
///
/// Rows of activations have a stride that is a multiple of kLanes, with zeros as padding.
struct CpuKernels {
  std::string_view name;
  bool (*supported)();

  /// A layer with several outputs. `in`: [rows, in_stride]; `out`: [rows, out_stride], of which
  /// padded_width(outputs) floats a row are written.
  void (*dense_layer)(const PackedLayerView& layer, const float* in, int in_stride, int rows,
                      bool relu, float* out, int out_stride);

  /// A layer with one output; `out[row * out_stride]` is written.
  void (*one_output_layer)(const PackedLayerView& layer, const float* in, int in_stride, int rows,
                           bool relu, float* out, int out_stride);

  /// Both layers of a head with one hidden layer. `in`: [rows, in_stride]; `out`: [rows].
  void (*two_layer_head)(const PackedLayerView& hidden, const PackedLayerView& output,
                         const float* in, int in_stride, int rows, float* out);

  /// A network of `count` layers that ends in one output, for rows that lie side by side: a
  /// register holds one input of many rows, and no sum goes across lanes. ReLU between layers.
  /// Input i of row r is `in[i * in_stride + r]`; `in_stride` is a multiple of kColumnAlignment and
  /// at least `rows`. `out`: [rows]. `scratch`: [padded_width of the widest layer, kColumnBlock]
  /// each; the first layer's inputs fit in one, too.
  void (*mlp_columns)(const PackedLayerView* layers, int count, const float* in, int in_stride,
                      int rows, float* const (&scratch)[2], float* out);

  /// sum_embeddings() and two_layer_head() at once, for the published sizes
  /// (published_sizes.h). Null if there is nothing to be gained.
  void (*score_published_shards)(const PackedLayerView& hidden, const PackedLayerView& output,
                                 const float* embeddings, const std::uint32_t* offsets,
                                 const std::uint32_t* ids, int shards, float* out);

  /// `new_sum = sum + piece` ([width], a multiple of kLanes), and the two-layer head of it.
  float (*add_and_score)(const PackedLayerView& hidden, const PackedLayerView& output,
                         const float* sum, const float* piece, int width, float* new_sum);

  /// `out[i] = a[i] + b[i]`, `width` a multiple of kLanes.
  void (*add)(const float* a, const float* b, int width, float* out);

  /// Sums of embeddings (rows of `width` floats) for `shards` shards in compressed rows.
  void (*sum_embeddings)(const float* embeddings, int width, const std::uint32_t* offsets,
                         const std::uint32_t* ids, int shards, float* out);

  /// Index of the lowest finite value, the first one on ties; -1 if there is none. `count` is a
  /// multiple of kLanes.
  int (*index_of_lowest)(const float* values, int count);

  /// Index of the device with the lowest cost, then the lowest memory, then the lowest index, among
  /// those with memory[d] <= max_memory, dim_sum[d] <= max_dim_sum and a finite cost; -1 if there
  /// is none. All three have padded_width(devices) entries; costs are infinite as padding.
  int (*choose_device)(const float* cost_ms, const std::int64_t* memory,
                       const std::int64_t* dim_sum, int devices, std::int64_t max_memory,
                       std::int64_t max_dim_sum);
};

extern const CpuKernels kScalarKernels;

/// All kernels that are compiled in, the widest first.
[[nodiscard]] std::span<const CpuKernels* const> all_cpu_kernels();

/// The kernels that this CPU supports, in the order of preference here.
[[nodiscard]] std::vector<const CpuKernels*> available_cpu_kernels();

/// The first available one if `name` is "auto", or the one named. Throws
/// Error if that cannot run here (kBackend) or if there is none of that name (kInvalidInput).
[[nodiscard]] const CpuKernels& select_cpu_kernels(std::string_view name);

}  // namespace neuroshard
