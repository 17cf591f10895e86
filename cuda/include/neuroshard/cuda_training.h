#pragma once

#include <memory>

#include "neuroshard/training.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Makes a backend for TrainingOptions::backend: it trains on the first usable CUDA device.
/// Products of matrices are by cuBLAS, which is looked for now. Equal seeds and data give equal
/// weights, bit for bit, on the same kind of device with the same cuBLAS. May be shared by several
/// trainings.
///
/// Throws Error (kBackend), saying why and what to do, if the library was built without CUDA, no
/// device can be used or cuBLAS is not found. Training then throws it if the device fails or lacks
/// memory.
[[nodiscard]] std::shared_ptr<const TrainingBackend> make_cuda_training();

}  // namespace neuroshard
#pragma GCC visibility pop
