#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/kernels/cpu_kernels.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/cost_models.h"
#include "weights/training/matrix_kernels.h"
#include "weights/training/training_state.h"

namespace neuroshard::training {

/// A network in the layout that training wants. Rows of activations are `padded_width(width)`
/// floats.
class TrainableMlp {
 public:
  /// Results of the forward pass for the backward pass, for `rows` rows.
  struct Tape {
    Tape(const TrainableMlp& mlp, std::size_t rows);
    [[nodiscard]] float* output(std::size_t row) {
      return outputs.back().data() + row * output_stride;
    }
    [[nodiscard]] float* output_gradient(std::size_t row) {
      return gradients.back().data() + row * output_stride;
    }

    std::vector<AlignedVector<float>> outputs;    ///< Outputs of each layer, after its ReLU.
    std::vector<AlignedVector<float>> gradients;  ///< Gradients of the loss by `outputs`.
    std::size_t output_stride;
  };

  /// `widths`: inputs, then the outputs of each layer. ReLU between layers, and after the last one
  /// if asked. Weights and biases start uniform in +-1/sqrt(inputs of the layer), PyTorch's default
  /// for linear layers.
  TrainableMlp(std::vector<int> widths, bool relu_after_last, Random& random);

  /// Starts with the weights of `mlp`, whose outputs it gives in units of `output_scale` above
  /// `output_shift`. Biases that are all 0 stay so.
  TrainableMlp(const Mlp& mlp, bool relu_after_last, float output_scale = 1.0F,
               float output_shift = 0.0F);

  [[nodiscard]] int inputs() const { return widths_.front(); }
  [[nodiscard]] int outputs() const { return widths_.back(); }
  [[nodiscard]] std::size_t input_stride() const { return padded_width(inputs()); }
  [[nodiscard]] std::size_t layers() const { return widths_.size() - 1; }
  /// Inputs of layer `k`; `width(k + 1)` are its outputs.
  [[nodiscard]] int width(std::size_t k) const { return widths_[k]; }
  [[nodiscard]] bool has_biases() const { return has_biases_; }
  /// Where the weights and biases of layer `k` begin in `parameters()`.
  [[nodiscard]] std::size_t weight_at(std::size_t k) const { return weight_at_[k]; }
  [[nodiscard]] std::size_t bias_at(std::size_t k) const { return bias_at_[k]; }

  /// Weights [inputs, padded outputs], then bias [padded outputs], layer after layer. Call
  /// `parameters_changed` after writing; padding must stay zero.
  [[nodiscard]] AlignedVector<float>& parameters() { return parameters_; }
  [[nodiscard]] const AlignedVector<float>& parameters() const { return parameters_; }
  void parameters_changed();
  void visit_state(const std::string& name, StateVisitor& visitor);
  /// Makes the first layer ignore an input.
  void disconnect_input(int input);
  /// Makes all biases 0, for good.
  void leave_out_biases();

  /// `inputs` is row `first_row` of [rows, input_stride()].
  void forward(const MatrixKernels& kernels, const float* inputs, std::size_t first_row,
               std::size_t rows, Tape& tape) const;
  /// The caller has set the tape's output gradients. `gradient` has the layout of `parameters` and
  /// is overwritten; `input_gradient`, if not null, is row `first_row` of [rows, input_stride()].
  void backward(const MatrixKernels& kernels, const float* inputs, std::size_t first_row,
                std::size_t rows, Tape& tape, float* gradient, float* input_gradient) const;

  /// Its last layer gives `output_shift + output_scale * output`.
  [[nodiscard]] Mlp to_mlp(float output_scale = 1.0F, float output_shift = 0.0F) const;

 private:
  /// `parameters_` and its layout, all 0.
  void allocate();
  [[nodiscard]] bool has_relu(std::size_t layer) const {
    return relu_after_last_ || layer + 1 < layers();
  }

  std::vector<int> widths_;
  bool relu_after_last_;
  bool has_biases_ = true;
  std::vector<std::size_t> weight_at_;  ///< Offset of each layer in `parameters_`.
  std::vector<std::size_t> bias_at_;
  AlignedVector<float> parameters_;
  std::vector<AlignedVector<float>> transposed_;  ///< For each layer: [outputs, padded inputs].
};

}  // namespace neuroshard::training
