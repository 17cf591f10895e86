#pragma once

#include "cuda/device/buffers.h"
#include "cuda/device/device_blas.h"
#include "neuroshard/cost_models.h"

namespace neuroshard::bench {

/// Shards in device memory, for kernels.
struct DeviceShards {
  const float* embeddings = nullptr;  ///< [pieces, width]
  int width = 0;
  const std::uint32_t* offsets = nullptr;  ///< [shards + 1]
  const std::uint32_t* piece_ids = nullptr;
  int shards = 0;
};

/// The head of the compute model as one would build it from a BLAS library: a kernel sums the
/// embeddings, then a product and a kernel for bias and ReLU for each layer. Intermediate values go
/// through device memory. It belongs to one device and stream.
class BlasHead {
 public:
  /// `rows_at_once`: shards that go through all layers together; the fewer, the more of what lies
  /// between stays in the L2 cache, and the more launches there are.
  BlasHead(const Mlp& head, int rows_at_once);

  /// Queues everything on `stream`, which is the one that `blas` uses. cost_ms: [shards].
  void run(gpu::DeviceBlas& blas, const DeviceShards& shards, float* cost_ms,
           cudaStream_t stream) const;

 private:
  struct Layer {
    int inputs;
    int outputs;
    const float* weight;  ///< [outputs, inputs]
    const float* bias;
  };

  int rows_at_once_;
  std::vector<Layer> layers_;
  gpu::DeviceBuffer weights_;
  gpu::DeviceBuffer sums_;
  gpu::DeviceBuffer activations_[2];
};

}  // namespace neuroshard::bench
