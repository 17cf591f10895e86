#pragma once

#include <array>
#include <utility>
#include <vector>

#include "cuda/device/buffers.h"
#include "cuda/device/device_blas.h"
#include "weights/training/cpu_trainee.h"

namespace neuroshard::gpu {

/// A network in training, in the memory of one device, and what runs through it. Parameters lie as
/// in training::TrainableMlp: a layer is the matrix [inputs + 1, padded outputs] whose last row is
/// the bias, so that with the ones in the rows of activations (training_kernels.h) a layer is one
/// product, and so is the gradient of all its parameters. Everything is queued on the stream.
class DeviceMlp {
 public:
  /// `rows`: at most, of one pass. `stream` and `blas`, which uses it, are borrowed.
  DeviceMlp(const training::TrainableMlp& mlp, std::size_t rows, DeviceBlas& blas,
            const Stream& stream);

  [[nodiscard]] int inputs() const { return widths_.front(); }
  [[nodiscard]] int outputs() const { return widths_.back(); }

  // Rows of activations, [rows, row_stride(units)].
  [[nodiscard]] float* input_rows() const { return rows_.front().floats(); }
  [[nodiscard]] float* output_rows() const { return rows_.back().floats(); }
  /// Gradients of the loss by the outputs, which backward() takes, and by the inputs, which it
  /// leaves.
  [[nodiscard]] float* output_gradients() const { return gradients_.back().floats(); }
  [[nodiscard]] float* input_gradients() const { return gradients_.front().floats(); }

  /// From the input rows to the output rows, which do not go through a ReLU.
  void forward(std::int64_t rows) const;
  /// Leaves the gradient of the parameters and, if asked to, of the inputs.
  void backward(std::int64_t rows, bool with_inputs) const;
  /// With the gradient that backward() left.
  void take_step(double learning_rate);

  void remember_weights() const;
  void recall_weights() const;

  /// Parameters, what Adam has gathered, and remembered weights. Both wait for the device.
  void copy_from(training::NetworkInTraining& host);
  void copy_to(training::NetworkInTraining& host) const;

 private:
  /// Floats in device memory.
  class Floats {
   public:
    void allocate(std::size_t count, const Stream& stream);  ///< All 0.
    [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(buffer_.data()); }

   private:
    DeviceBuffer buffer_;
  };

  /// Arrays of the device, and those of the host that they are copied from and to.
  [[nodiscard]] std::array<std::pair<const Floats*, AlignedVector<float>*>, 4> arrays(
      training::NetworkInTraining& host) const;
  [[nodiscard]] std::size_t layers() const { return widths_.size() - 1; }
  [[nodiscard]] std::size_t bytes() const { return parameters_count_ * sizeof(float); }

  std::vector<int> widths_;
  bool has_biases_;
  DeviceBlas& blas_;
  const Stream& stream_;
  std::vector<std::size_t> parameters_at_;  ///< First parameter of each layer.
  std::size_t parameters_count_;
  std::vector<Floats> rows_;       ///< Inputs, then the outputs of each layer.
  std::vector<Floats> gradients_;  ///< Gradients of the loss by them.
  Floats parameters_;
  Floats gradient_;
  Floats mean_;
  Floats square_;
  Floats best_;
  long steps_ = 0;
};

}  // namespace neuroshard::gpu
