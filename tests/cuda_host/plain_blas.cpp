// In place of cuBLAS, whose kernels need a GPU: its products as plain loops, queued like kernels.
#include "cuda_host/plain_blas.h"

#include <functional>
#include <utility>

#include "cuda/device/check.h"
#include "cuda/device/device_blas.h"
#include "neuroshard/error.h"

namespace neuroshard::gpu {
namespace {

bool cublas_is_found = true;

class PlainBlas final : public DeviceBlas {
 public:
  explicit PlainBlas(cudaStream_t stream) : stream_(stream) {}

  void multiply(Operand a_as, Operand b_as, int m, int n, int k, const float* a, int lda,
                const float* b, int ldb, float* c, int ldc) override {
    // As cuBLAS has it.
    const bool plain_a = a_as == Operand::kPlain;
    const bool plain_b = b_as == Operand::kPlain;
    if (m < 1 || n < 1 || k < 1 || lda < (plain_a ? m : k) || ldb < (plain_b ? k : n) || ldc < m) {
      throw Error("cuBLAS: cublasSgemm failed with status 7", ErrorKind::kBackend);
    }
    queue([=] {
      const std::ptrdiff_t a_row = plain_a ? 1 : lda;
      const std::ptrdiff_t a_column = plain_a ? lda : 1;
      const std::ptrdiff_t b_row = plain_b ? 1 : ldb;
      const std::ptrdiff_t b_column = plain_b ? ldb : 1;
      for (std::ptrdiff_t column = 0; column < n; ++column) {
        for (std::ptrdiff_t row = 0; row < m; ++row) {
          float sum = 0.0F;
          for (std::ptrdiff_t i = 0; i < k; ++i) {
            sum += a[row * a_row + i * a_column] * b[i * b_row + column * b_column];
          }
          c[column * ldc + row] = sum;
        }
      }
    });
  }

  void multiply_vector_transposed(int k, int n, const float* a, int lda, const float* x,
                                  float* y) override {
    multiply(Operand::kTransposed, Operand::kPlain, 1, n, k, x, k, a, lda, y, 1);
  }

 private:
  void queue(std::function<void()> work) {
    NEUROSHARD_CUDA_CHECK(host_cuda::enqueue_launch(dim3(1), dim3(1), 0, stream_, std::move(work)));
  }

  cudaStream_t stream_;
};

}  // namespace

bool cublas_found() { return cublas_is_found; }

std::string cublas_description() { return cublas_is_found ? "plain loops" : "none: hidden"; }

std::unique_ptr<DeviceBlas> make_cublas(cudaStream_t stream) {
  if (!cublas_is_found) {
    throw Error("cuBLAS: it was not found; put its folder on LD_LIBRARY_PATH", ErrorKind::kBackend);
  }
  return std::make_unique<PlainBlas>(stream);
}

}  // namespace neuroshard::gpu

void host_cuda::set_cublas_found(bool found) { neuroshard::gpu::cublas_is_found = found; }
