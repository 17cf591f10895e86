#pragma once

#include <cuda_runtime.h>

#include "cuda/networks/network_view.h"

namespace neuroshard::gpu {

struct EmbedArgs {
  NormalizationView features;
  MlpView network;
  const float* raw_features = nullptr;  ///< [pieces, network.inputs]
  float* embeddings = nullptr;          ///< [pieces, width], written in full
  int pieces = 0;
  int width = 0;  ///< network.outputs and zeros.
  int tile_rows = 0;
};

/// Throws Error (kBackend) if the network is too wide for shared memory.
void embed_pieces(const EmbedArgs& args, int multiprocessors, std::size_t max_shared_bytes,
                  cudaStream_t stream);
void prepare_embed_pieces(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
