#include "cuda/training/device_mlp.h"

#include "core/kernels/cpu_kernels.h"
#include "cuda/device/check.h"
#include "cuda/training/training_kernels.h"

namespace neuroshard::gpu {
namespace {

void set_to_0(float* floats, std::size_t count, const Stream& stream) {
  NEUROSHARD_CUDA_CHECK(cudaMemsetAsync(floats, 0, count * sizeof(float), stream.get()));
}

}  // namespace

void DeviceMlp::Floats::allocate(std::size_t count, const Stream& stream) {
  buffer_.reserve(count * sizeof(float));
  set_to_0(floats(), count, stream);
}

DeviceMlp::DeviceMlp(const training::TrainableMlp& mlp, std::size_t rows, DeviceBlas& blas,
                     const Stream& stream)
    : has_biases_(mlp.has_biases()),
      blas_(blas),
      stream_(stream),
      parameters_count_(mlp.parameters().size()),
      rows_(mlp.layers() + 1),
      gradients_(mlp.layers() + 1) {
  for (std::size_t k = 0; k <= mlp.layers(); ++k) {
    widths_.push_back(mlp.width(k));
    if (k < mlp.layers()) parameters_at_.push_back(mlp.weight_at(k));
    const std::size_t floats = rows * static_cast<std::size_t>(row_stride(widths_[k]));
    rows_[k].allocate(floats, stream);
    gradients_[k].allocate(floats, stream);
    clear_rows(rows_[k].floats(), static_cast<std::int64_t>(rows), widths_[k], stream.get());
  }
  for (Floats* each : {&parameters_, &gradient_, &mean_, &square_, &best_}) {
    each->allocate(parameters_count_, stream);
  }
}

// BLAS reads rows as columns: every matrix here is the transposed one there.
void DeviceMlp::forward(std::int64_t rows) const {
  for (std::size_t k = 0; rows > 0 && k < layers(); ++k) {
    const int in = widths_[k];
    const int out = widths_[k + 1];
    float* y = rows_[k + 1].floats();
    blas_.multiply(Operand::kPlain, Operand::kPlain, out, static_cast<int>(rows), in + 1,
                   parameters_.floats() + parameters_at_[k], padded_width(out), rows_[k].floats(),
                   row_stride(in), y, row_stride(out));
    if (k + 1 < layers()) rectify(y, rows * row_stride(out), stream_.get());
  }
}

void DeviceMlp::backward(std::int64_t rows, bool with_inputs) const {
  if (rows == 0) {
    set_to_0(gradient_.floats(), parameters_count_, stream_);
    return;
  }
  for (std::size_t k = layers(); k-- > 0;) {
    const int in = widths_[k];
    const int out = widths_[k + 1];
    const float* y_gradient = gradients_[k + 1].floats();
    // Without biases their gradient stays 0, as it was made.
    blas_.multiply(Operand::kPlain, Operand::kTransposed, out, has_biases_ ? in + 1 : in,
                   static_cast<int>(rows), y_gradient, row_stride(out), rows_[k].floats(),
                   row_stride(in), gradient_.floats() + parameters_at_[k], padded_width(out));
    if (k == 0 && !with_inputs) return;
    blas_.multiply(Operand::kTransposed, Operand::kPlain, in, static_cast<int>(rows), out,
                   parameters_.floats() + parameters_at_[k], padded_width(out), y_gradient,
                   row_stride(out), gradients_[k].floats(), row_stride(in));
    if (k > 0) {
      stop_at_zero(rows_[k].floats(), rows * row_stride(in), gradients_[k].floats(), stream_.get());
    }
  }
}

void DeviceMlp::take_step(double learning_rate) {
  update_parameters({++steps_, learning_rate}, gradient_.floats(), parameters_count_,
                    mean_.floats(), square_.floats(), parameters_.floats(), stream_.get());
}

void DeviceMlp::remember_weights() const {
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(best_.floats(), parameters_.floats(), bytes(),
                                        cudaMemcpyDeviceToDevice, stream_.get()));
}

void DeviceMlp::recall_weights() const {
  NEUROSHARD_CUDA_CHECK(cudaMemcpyAsync(parameters_.floats(), best_.floats(), bytes(),
                                        cudaMemcpyDeviceToDevice, stream_.get()));
}

std::array<std::pair<const DeviceMlp::Floats*, AlignedVector<float>*>, 4> DeviceMlp::arrays(
    training::NetworkInTraining& host) const {
  return {{{&parameters_, &host.mlp.parameters()},
           {&mean_, &host.adam.mean()},
           {&square_, &host.adam.square()},
           {&best_, &host.best}}};
}

void DeviceMlp::copy_from(training::NetworkInTraining& host) {
  for (const auto& [to, from] : arrays(host)) {
    stream_.copy_to_device(reinterpret_cast<std::byte*>(to->floats()),
                           reinterpret_cast<const std::byte*>(from->data()), bytes());
  }
  steps_ = host.adam.steps();
  stream_.synchronize();
}

void DeviceMlp::copy_to(training::NetworkInTraining& host) const {
  for (const auto& [from, to] : arrays(host)) {
    stream_.copy_to_host(reinterpret_cast<std::byte*>(to->data()),
                         reinterpret_cast<const std::byte*>(from->floats()), bytes());
  }
  host.adam.steps() = steps_;
  stream_.synchronize();
  host.mlp.parameters_changed();
}

}  // namespace neuroshard::gpu
