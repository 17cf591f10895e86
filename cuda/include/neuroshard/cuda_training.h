#pragma once

#include <memory>

#include "neuroshard/training.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// For TrainingOptions::backend: training on the first usable CUDA device, with cuBLAS for the
/// products of matrices, which is looked for now. The same seed and data give the same weights bit
/// for bit on the same kind of device with the same cuBLAS. May be shared by several trainings.
///
/// Throws Error (kBackend), saying why and what to do, if the library was built without CUDA, no
/// device can be used or cuBLAS is not found. Training then throws it if the device fails or lacks
/// memory.
[[nodiscard]] std::shared_ptr<const TrainingBackend> make_cuda_training();

}  // namespace neuroshard
#pragma GCC visibility pop
