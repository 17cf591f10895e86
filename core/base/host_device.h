#pragma once

/// For functions that CUDA kernels call too.
#ifdef __CUDACC__
#define NEUROSHARD_HOST_DEVICE __host__ __device__
#else
#define NEUROSHARD_HOST_DEVICE
#endif
