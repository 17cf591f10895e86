#pragma once

#include "core/base/heap_bytes.h"
#include "core/models/packed_mlp.h"

namespace neuroshard {

/// Runs an MLP over rows, a block of rows at a time. Owns the activations between layers, so one
/// runner serves one thread; it allocates only when constructed.
class MlpRunner {
 public:
  /// A multiple of the kernels' tile of six rows; 128 floats a row stay within the L1 cache.
  static constexpr int kBlockRows = 24;

  /// Borrows both. `relu_last`: ReLU after the last layer too. `most_rows`: of a call; more take
  /// several blocks, but scratch is made, and zeroed, for no more than that.
  MlpRunner(const CpuKernels& kernels, const PackedMlp& mlp, bool relu_last,
            int most_rows = kBlockRows);

  /// `in`: [rows, in_stride] with in_stride >= padded_width(inputs) and zeros as padding.
  /// `out`: [rows, out_stride]; padded_width(outputs) floats a row are written, or one if there is
  /// one output.
  void run(const float* in, int in_stride, int rows, float* out, int out_stride);

  [[nodiscard]] std::size_t held_bytes() const {
    return heap_bytes(scratch_[0]) + heap_bytes(scratch_[1]);
  }

 private:
  const CpuKernels& kernels_;
  const PackedMlp& mlp_;
  bool relu_last_;
  int scratch_width_;
  int block_rows_;
  AlignedVector<float> scratch_[2];
};

}  // namespace neuroshard
