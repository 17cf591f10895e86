#include "weights/collection/pooling_kernels.h"

namespace neuroshard {
namespace {

void sum_rows(const float* weights, const std::int64_t* indices, std::int64_t count, int dim,
              float* out) {
  for (int column = 0; column < dim; ++column) out[column] = 0.0F;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* row = weights + indices[i] * dim;
    for (int column = 0; column < dim; ++column) out[column] += row[column];
  }
}

void update_row(const float* gradients, std::int64_t stride, const Lookup* lookups,
                std::int64_t count, int dim, float learning_rate, float* row) {
  for (int column = 0; column < dim; ++column) {
    float sum = 0.0F;
    for (std::int64_t i = 0; i < count; ++i) sum += gradients[lookups[i].sample * stride + column];
    row[column] -= learning_rate * sum;
  }
}

bool always() { return true; }

}  // namespace

const PoolingKernels kScalarPooling = {"scalar", always, sum_rows, update_row};

const PoolingKernels& pooling_kernels() {
#ifdef NEUROSHARD_HAS_AVX2
  if (kAvx2Pooling.supported()) return kAvx2Pooling;
#endif
  return kScalarPooling;
}

}  // namespace neuroshard
