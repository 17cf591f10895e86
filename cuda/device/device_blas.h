#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

namespace neuroshard::gpu {

/// How a product reads a matrix.
enum class Operand { kPlain, kTransposed };

/// Products of matrices in device memory, column-major as BLAS has them: of training, and of the
/// cuBLAS baseline of nsbench. Queued on a stream, in fp32 without tensor cores. Tests that execute
/// kernels on the CPU bring their own.
class DeviceBlas {
 public:
  virtual ~DeviceBlas() = default;

  /// c [m, n] = a b, with a [m, k], or [k, m] if transposed, and b [k, n], or [n, k]; columns are
  /// lda, ldb, ldc floats apart.
  virtual void multiply(Operand a_as, Operand b_as, int m, int n, int k, const float* a, int lda,
                        const float* b, int ldb, float* c, int ldc) = 0;
  /// y [n] = a^T x, with a [k, n]; columns are lda floats apart.
  virtual void multiply_vector_transposed(int k, int n, const float* a, int lda, const float* x,
                                          float* y) = 0;
};

/// cuBLAS, loaded now: programs start without it too. Throws Error (kBackend) if there is none.
[[nodiscard]] std::unique_ptr<DeviceBlas> make_cublas(cudaStream_t stream);

/// "13.0.2 (libcublas.so.13)", or why there is none.
[[nodiscard]] std::string cublas_description();
/// True if make_cublas finds the library.
[[nodiscard]] bool cublas_found();

}  // namespace neuroshard::gpu
