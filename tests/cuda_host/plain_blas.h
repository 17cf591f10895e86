#pragma once

namespace host_cuda {

/// cuBLAS, whose place plain_blas.cpp takes, is or is not found from now on. At first it is.
void set_cublas_found(bool found);

}  // namespace host_cuda
