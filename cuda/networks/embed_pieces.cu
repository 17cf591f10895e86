#include <algorithm>

#include "cuda/device/launch.h"
#include "cuda/networks/block_mlp.cuh"
#include "cuda/networks/embed_pieces.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/published_sizes.h"

namespace neuroshard::gpu {
namespace {

constexpr int kThreads = 256;

// Embeddings of pieces: normalisation and table network, a tile of pieces a block, all layers in
// shared memory (block_mlp.cuh). 6,656 FMA a piece for 20 -> 128 -> 32 against 208 bytes in and
// out: bound by fp32 issue and, with a tile this small, by the reads of activations that go with
// it.
// At least four blocks a multiprocessor where loops are not unrolled: left to itself, the compiler
// wants six there, and spills. (0: left to itself.)
template <bool kPublishedSizes>
__global__ void __launch_bounds__(kThreads, kPublishedSizes ? 0 : 4)
    embed_pieces_kernel(const EmbedArgs args) {
  const int stride = tile_stride(args.network.width);
  auto* a = reinterpret_cast<float*>(dynamic_shared_memory());
  float* b = a + args.tile_rows * stride;
  const int first = static_cast<int>(blockIdx.x) * args.tile_rows;
  const int rows = min(args.tile_rows, args.pieces - first);
  const int inputs = args.network.inputs;
  const int columns = round_to_4(inputs);
  const int threads = static_cast<int>(blockDim.x);
  for (int item = static_cast<int>(threadIdx.x); item < rows * columns; item += threads) {
    const int i = item % columns;
    float x = 0.0F;
    if (i < inputs) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(first + item / columns) * inputs + i;
      x = (read_only(args.raw_features + at) - read_only(args.features.mean + i)) /
          read_only(args.features.std + i);
    }
    a[item / columns * stride + i] = x;
  }
  const float* out = a;
  if constexpr (kPublishedSizes) {
    __syncthreads();
    tile_dense_layer<kTableFeatures, kPublishedTableHidden>(args.network.layers[0], a, b, stride,
                                                            rows, true);
    __syncthreads();
    tile_dense_layer<kPublishedTableHidden, kPublishedEmbedding>(args.network.layers[1], b, a,
                                                                 stride, rows, true);
    __syncthreads();
  } else {
    out = tile_mlp(args.network, a, args.tile_rows * stride, stride, rows, true);
  }
  for (int item = static_cast<int>(threadIdx.x); item < rows * args.width; item += threads) {
    const int i = item % args.width;
    args.embeddings[static_cast<std::ptrdiff_t>(first) * args.width + item] =
        i < args.network.outputs ? out[item / args.width * stride + i] : 0.0F;
  }
}

bool has_published_sizes(const MlpView& network) {
  return network.count == 2 && network.inputs == kTableFeatures &&
         network.outputs == kPublishedEmbedding && network.width == kPublishedTableHidden;
}

}  // namespace

void embed_pieces(const EmbedArgs& args, int multiprocessors, std::size_t max_shared_bytes,
                  cudaStream_t stream) {
  const std::size_t row_bytes =
      2 * static_cast<std::size_t>(tile_stride(args.network.width)) * sizeof(float);
  require_shared_memory("a row of the table network", row_bytes, max_shared_bytes);
  EmbedArgs shaped = args;
  // Small batches are spread over all multiprocessors, and wide networks have short tiles.
  shaped.tile_rows = std::min(std::clamp((args.pieces + multiprocessors - 1) / multiprocessors,
                                         kRowsPerThread, kMaxTileRows),
                              static_cast<int>(max_shared_bytes / row_bytes));
  const auto blocks =
      static_cast<unsigned>((args.pieces + shaped.tile_rows - 1) / shaped.tile_rows);
  const std::size_t shared_bytes = static_cast<std::size_t>(shaped.tile_rows) * row_bytes;
  launch(has_published_sizes(args.network) ? embed_pieces_kernel<true> : embed_pieces_kernel<false>,
         {blocks, kThreads, shared_bytes}, stream, shaped);
}

void prepare_embed_pieces(std::size_t max_shared_bytes) {
  allow_shared_memory(embed_pieces_kernel<true>, max_shared_bytes);
  allow_shared_memory(embed_pieces_kernel<false>, max_shared_bytes);
}

}  // namespace neuroshard::gpu
