#include "weights/training/trainable_mlp.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace neuroshard::training {

TrainableMlp::Tape::Tape(const TrainableMlp& mlp, std::size_t rows)
    : output_stride(padded_width(mlp.outputs())) {
  for (std::size_t k = 0; k < mlp.layers(); ++k) {
    const std::size_t size = rows * padded_width(mlp.widths_[k + 1]);
    outputs.emplace_back(size, 0.0F);
    gradients.emplace_back(size, 0.0F);
  }
}

TrainableMlp::TrainableMlp(std::vector<int> widths, bool relu_after_last, Random& random)
    : widths_(std::move(widths)), relu_after_last_(relu_after_last) {
  allocate();
  for (std::size_t k = 0; k < layers(); ++k) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(widths_[k]));
    const std::size_t out = padded_width(widths_[k + 1]);
    for (int input = 0; input <= widths_[k]; ++input) {  // The row after the last one is the bias.
      float* row = &parameters_[weight_at_[k] + input * out];
      for (int o = 0; o < widths_[k + 1]; ++o) {
        row[o] = static_cast<float>(bound * (2.0 * random.uniform() - 1.0));
      }
    }
  }
  parameters_changed();
}

TrainableMlp::TrainableMlp(const Mlp& mlp, bool relu_after_last, float output_scale,
                           float output_shift)
    : widths_{mlp.inputs()}, relu_after_last_(relu_after_last) {
  for (const DenseLayer& layer : mlp.layers) widths_.push_back(layer.outputs);
  allocate();
  has_biases_ = false;
  for (std::size_t k = 0; k < layers(); ++k) {
    const DenseLayer& layer = mlp.layers[k];
    const std::size_t out = padded_width(layer.outputs);
    const bool is_last = k + 1 == layers();
    const float scale = is_last ? output_scale : 1.0F;
    for (int o = 0; o < layer.outputs; ++o) {
      for (int i = 0; i < layer.inputs; ++i) {
        parameters_[weight_at_[k] + i * out + o] = layer.weight[o * layer.inputs + i] / scale;
      }
      const float bias = (layer.bias[o] - (is_last ? output_shift : 0.0F)) / scale;
      parameters_[bias_at_[k] + o] = bias;
      has_biases_ |= bias != 0.0F;
    }
  }
  parameters_changed();
}

void TrainableMlp::allocate() {
  std::size_t size = 0;
  for (std::size_t k = 0; k < layers(); ++k) {
    const std::size_t out = padded_width(widths_[k + 1]);
    weight_at_.push_back(size);
    size += out * widths_[k];
    bias_at_.push_back(size);
    size += out;
    transposed_.emplace_back(static_cast<std::size_t>(widths_[k + 1]) * padded_width(widths_[k]),
                             0.0F);
  }
  parameters_.assign(size, 0.0F);
}

void TrainableMlp::parameters_changed() {
  for (std::size_t k = 0; k < layers(); ++k) {
    const std::size_t in = padded_width(widths_[k]);
    const std::size_t out = padded_width(widths_[k + 1]);
    const float* weight = &parameters_[weight_at_[k]];
    for (int o = 0; o < widths_[k + 1]; ++o) {
      for (int i = 0; i < widths_[k]; ++i) transposed_[k][o * in + i] = weight[i * out + o];
    }
  }
}

void TrainableMlp::visit_state(const std::string& name, StateVisitor& visitor) {
  visitor.floats(name + ".parameters", parameters_);
  parameters_changed();
}

void TrainableMlp::disconnect_input(int input) {
  const std::size_t out = padded_width(widths_[1]);
  for (std::size_t o = 0; o < out; ++o) parameters_[weight_at_[0] + input * out + o] = 0.0F;
  parameters_changed();
}

void TrainableMlp::leave_out_biases() {
  has_biases_ = false;
  for (std::size_t k = 0; k < layers(); ++k) {
    std::fill_n(&parameters_[bias_at_[k]], padded_width(widths_[k + 1]), 0.0F);
  }
}

void TrainableMlp::forward(const MatrixKernels& kernels, const float* inputs, std::size_t first_row,
                           std::size_t rows, Tape& tape) const {
  const float* x = inputs;
  for (std::size_t k = 0; k < layers(); ++k) {
    const int out = padded_width(widths_[k + 1]);
    float* y = tape.outputs[k].data() + first_row * out;
    MatrixProduct product;
    product.rows = static_cast<int>(rows);
    product.columns = out;
    product.depth = widths_[k];
    product.a = x;
    product.a_row = padded_width(widths_[k]);
    product.a_column = 1;
    product.b = &parameters_[weight_at_[k]];
    product.b_row = out;
    product.c = y;
    product.c_row = out;
    product.start = &parameters_[bias_at_[k]];
    kernels.multiply(product);
    if (has_relu(k)) {
      for (std::size_t i = 0; i < rows * out; ++i) y[i] = y[i] > 0.0F ? y[i] : 0.0F;
    }
    x = y;
  }
}

void TrainableMlp::backward(const MatrixKernels& kernels, const float* inputs,
                            std::size_t first_row, std::size_t rows, Tape& tape, float* gradient,
                            float* input_gradient) const {
  for (std::size_t k = layers(); k-- > 0;) {
    const int in = padded_width(widths_[k]);
    const int out = padded_width(widths_[k + 1]);
    const float* x = k == 0 ? inputs : tape.outputs[k - 1].data() + first_row * in;
    float* x_gradient = k == 0 ? input_gradient : tape.gradients[k - 1].data() + first_row * in;
    const float* y = tape.outputs[k].data() + first_row * out;
    float* y_gradient = tape.gradients[k].data() + first_row * out;
    if (has_relu(k)) {
      for (std::size_t i = 0; i < rows * out; ++i) {
        y_gradient[i] = y[i] > 0.0F ? y_gradient[i] : 0.0F;
      }
    }

    float* bias_gradient = gradient + bias_at_[k];
    for (int o = 0; o < out; ++o) bias_gradient[o] = 0.0F;
    for (std::size_t r = 0; has_biases_ && r < rows; ++r) {
      for (int o = 0; o < out; ++o) bias_gradient[o] += y_gradient[r * out + o];
    }

    MatrixProduct weights;
    weights.rows = widths_[k];
    weights.columns = out;
    weights.depth = static_cast<int>(rows);
    weights.a = x;
    weights.a_row = 1;
    weights.a_column = in;
    weights.b = y_gradient;
    weights.b_row = out;
    weights.c = gradient + weight_at_[k];
    weights.c_row = out;
    kernels.multiply(weights);

    if (x_gradient != nullptr) {
      MatrixProduct back;
      back.rows = static_cast<int>(rows);
      back.columns = in;
      back.depth = widths_[k + 1];
      back.a = y_gradient;
      back.a_row = out;
      back.a_column = 1;
      back.b = transposed_[k].data();
      back.b_row = in;
      back.c = x_gradient;
      back.c_row = in;
      kernels.multiply(back);
    }
  }
}

Mlp TrainableMlp::to_mlp(float output_scale, float output_shift) const {
  Mlp mlp;
  for (std::size_t k = 0; k < layers(); ++k) {
    const std::size_t out = padded_width(widths_[k + 1]);
    DenseLayer layer{widths_[k], widths_[k + 1], {}, {}};
    for (int o = 0; o < layer.outputs; ++o) {
      for (int i = 0; i < layer.inputs; ++i) {
        layer.weight.push_back(parameters_[weight_at_[k] + i * out + o]);
      }
      layer.bias.push_back(parameters_[bias_at_[k] + o]);
    }
    mlp.layers.push_back(std::move(layer));
  }
  for (float& weight : mlp.layers.back().weight) weight *= output_scale;
  for (float& bias : mlp.layers.back().bias) bias = bias * output_scale + output_shift;
  return mlp;
}

}  // namespace neuroshard::training
