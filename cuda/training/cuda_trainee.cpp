#include "cuda/training/cuda_trainee.h"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>

#include "core/kernels/cpu_kernels.h"
#include "cuda/device/check.h"
#include "cuda/device/current_device.h"
#include "cuda/device/device_blas.h"
#include "cuda/training/device_mlp.h"
#include "neuroshard/error.h"

namespace neuroshard::gpu {
namespace {

// Samples evaluated at a time, if steps are smaller.
constexpr std::size_t kEvaluationBatch = 4096;

template <typename T>
T* device_array(const DeviceBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.data());
}

template <typename T>
void send(const Stream& stream, std::span<const T> values, DeviceBuffer& to) {
  to.reserve(values.size_bytes());
  stream.copy_to_device(to.data(), reinterpret_cast<const std::byte*>(values.data()),
                        values.size_bytes());
}

// Rows that `batch` samples have at most.
std::size_t most_rows(std::span<const std::int64_t> sample_rows, std::size_t batch) {
  std::int64_t longest = 1;
  for (std::size_t s = 1; s < sample_rows.size(); ++s) {
    longest = std::max(longest, sample_rows[s] - sample_rows[s - 1]);
  }
  const std::size_t rows = std::min(static_cast<std::size_t>(sample_rows.back()),
                                    static_cast<std::size_t>(longest) * batch);
  if (rows > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error("cuda backend: a step has " + std::to_string(rows) +
                    " rows; give smaller batches (--batch)",
                ErrorKind::kBackend);
  }
  return std::max<std::size_t>(rows, 1);
}

// Copies rows of padded_width(inputs) floats into rows of activations with their one.
std::vector<float> with_ones(std::span<const float> inputs, int units) {
  const auto from = static_cast<std::size_t>(padded_width(units));
  const auto to = static_cast<std::size_t>(row_stride(units));
  const std::size_t rows = inputs.size() / from;
  std::vector<float> all(rows * to, 0.0F);
  for (std::size_t r = 0; r < rows; ++r) {
    std::copy_n(&inputs[r * from], units, &all[r * to]);
    all[r * to + static_cast<std::size_t>(units)] = 1.0F;
  }
  return all;
}

}  // namespace

struct CudaTrainee::DeviceMemory {
  Stream stream;
  std::unique_ptr<DeviceBlas> blas = make_cublas(stream.get());

  // The data set.
  DeviceBuffer inputs;
  DeviceBuffer row_ids;  // Empty: rows are their own inputs.
  DeviceBuffer sample_rows;
  DeviceBuffer costs_ms;

  // Data of the epoch, or of the samples that are evaluated: samples, first rows, losses.
  PinnedBuffer host_samples;
  PinnedBuffer host_first_rows;
  PinnedBuffer host_losses;
  DeviceBuffer samples;
  DeviceBuffer first_rows;
  DeviceBuffer losses;

  std::vector<std::unique_ptr<DeviceMlp>> networks;

  [[nodiscard]] bool pooled() const { return networks.size() > 1; }
  [[nodiscard]] const std::int64_t* rows_of_order() const {
    return reinterpret_cast<const std::int64_t*>(host_first_rows.host());
  }
  [[nodiscard]] std::int64_t rows_of(const BatchView& batch, std::size_t first) const {
    const std::int64_t* rows = rows_of_order() + first;
    return rows[batch.count] - rows[0];
  }
};

CudaTrainee::CudaTrainee(int device, training::CpuTrainee& host, std::size_t batch)
    : device_(device), host_(host) {
  const training::TraineeData data = host.data();
  sample_rows_.assign(data.offsets.begin(), data.offsets.end());
  batch_capacity_ = std::min(data.offsets.size() - 1, std::max(batch, kEvaluationBatch));

  const CurrentDevice current(device_);
  auto memory = std::make_unique<DeviceMemory>();
  const std::size_t rows = most_rows(sample_rows_, batch_capacity_);
  for (training::NetworkInTraining& network : host.networks()) {
    const bool of_rows = memory->networks.empty();
    memory->networks.push_back(std::make_unique<DeviceMlp>(
        network.mlp, of_rows ? rows : batch_capacity_, *memory->blas, memory->stream));
    memory->networks.back()->copy_from(network);
  }
  const std::vector<float> inputs = with_ones(data.inputs, memory->networks.front()->inputs());
  send(memory->stream, std::span(inputs), memory->inputs);
  if (!data.row_ids.empty()) send(memory->stream, std::span(data.row_ids), memory->row_ids);
  send(memory->stream, std::span<const std::int64_t>(sample_rows_), memory->sample_rows);
  send(memory->stream, std::span(data.costs_ms), memory->costs_ms);
  memory->stream.synchronize();
  memory_ = std::move(memory);
}

CudaTrainee::~CudaTrainee() {
  const CurrentDevice current(device_, std::nothrow);
  memory_.reset();
}

void CudaTrainee::begin_epoch(std::span<const std::uint32_t> order) {
  const CurrentDevice current(device_);
  send_order(order);
}

void CudaTrainee::queue_step(std::size_t count, double learning_rate) {
  const CurrentDevice current(device_);
  run_backward(run_forward(count, true));
  for (const auto& network : memory_->networks) network->take_step(learning_rate);
}

double CudaTrainee::epoch_loss() {
  const CurrentDevice current(device_);
  return mean_of_losses();
}

double CudaTrainee::mean_loss(std::span<const std::uint32_t> samples) {
  const CurrentDevice current(device_);
  send_order(samples);
  while (done_ < samples.size()) {
    run_forward(std::min(batch_capacity_, samples.size() - done_), false);
  }
  return mean_of_losses();
}

// Once, of few samples: the host does as well.
std::vector<float> CudaTrainee::predict(std::span<const std::uint32_t> samples) {
  copy_to_host();
  return host_.predict(samples);
}

void CudaTrainee::send_order(std::span<const std::uint32_t> order) {
  DeviceMemory& memory = *memory_;
  memory.stream.synchronize();  // The order before is not in use any more.
  done_ = 0;
  memory.host_samples.reserve(order.size_bytes());
  memory.host_first_rows.reserve((order.size() + 1) * sizeof(std::int64_t));
  memory.host_losses.reserve(order.size() * sizeof(double));
  memory.losses.reserve(order.size() * sizeof(double));
  auto* samples = reinterpret_cast<std::uint32_t*>(memory.host_samples.host());
  auto* first_rows = reinterpret_cast<std::int64_t*>(memory.host_first_rows.host());
  first_rows[0] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t sample = order[i];
    samples[i] = sample;
    first_rows[i + 1] = first_rows[i] + sample_rows_[sample + 1] - sample_rows_[sample];
  }
  send(memory.stream, std::span<const std::uint32_t>(samples, order.size()), memory.samples);
  send(memory.stream, std::span<const std::int64_t>(first_rows, order.size() + 1),
       memory.first_rows);
}

BatchView CudaTrainee::run_forward(std::size_t count, bool with_gradients) {
  DeviceMemory& memory = *memory_;
  const cudaStream_t stream = memory.stream.get();
  const BatchView batch{.samples = device_array<std::uint32_t>(memory.samples) + done_,
                        .first_rows = device_array<std::int64_t>(memory.first_rows) + done_,
                        .sample_rows = device_array<std::int64_t>(memory.sample_rows),
                        .count = static_cast<int>(count)};
  const DeviceMlp& first = *memory.networks.front();
  const DeviceMlp& last = *memory.networks.back();
  gather_rows(batch, device_array<float>(memory.inputs),
              device_array<std::uint32_t>(memory.row_ids), row_stride(first.inputs()),
              first.input_rows(), stream);
  first.forward(memory.rows_of(batch, done_));
  if (memory.pooled()) {
    pool_rows(batch, first.output_rows(), first.outputs(), last.input_rows(), stream);
    last.forward(batch.count);
  }
  take_losses({.batch = batch,
               .outputs = last.output_rows(),
               .stride = row_stride(last.outputs()),
               .units = last.outputs(),
               .pooled = memory.pooled(),
               .costs_ms = device_array<float>(memory.costs_ms),
               .scale = host_.scale(),
               .loss = host_.loss(),
               .losses = device_array<double>(memory.losses) + done_,
               .gradients = with_gradients ? last.output_gradients() : nullptr},
              stream);
  done_ += count;
  return batch;
}

void CudaTrainee::run_backward(const BatchView& batch) {
  const DeviceMemory& memory = *memory_;
  const DeviceMlp& first = *memory.networks.front();
  const DeviceMlp& last = *memory.networks.back();
  if (memory.pooled()) {
    last.backward(batch.count, true);
    spread_gradients(batch, first.output_rows(), last.input_gradients(), first.outputs(),
                     first.output_gradients(), memory.stream.get());
  }
  first.backward(memory.rows_of(batch, done_ - static_cast<std::size_t>(batch.count)), false);
}

double CudaTrainee::mean_of_losses() {
  DeviceMemory& memory = *memory_;
  memory.stream.copy_to_host(memory.host_losses.host(), memory.losses.data(),
                             done_ * sizeof(double));
  memory.stream.synchronize();
  const std::span<const double> losses(reinterpret_cast<const double*>(memory.host_losses.host()),
                                       done_);
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(done_);
}

void CudaTrainee::remember_weights() {
  const CurrentDevice current(device_);
  for (const auto& network : memory_->networks) network->remember_weights();
}

void CudaTrainee::recall_weights() {
  const CurrentDevice current(device_);
  for (const auto& network : memory_->networks) network->recall_weights();
  copy_to_host();
}

void CudaTrainee::copy_to_host() {
  const CurrentDevice current(device_);
  for (std::size_t i = 0; i < memory_->networks.size(); ++i) {
    memory_->networks[i]->copy_to(host_.networks()[i]);
  }
}

void CudaTrainee::visit_state(const std::string& name, training::StateVisitor& visitor) {
  copy_to_host();
  host_.visit_state(name, visitor);
  const CurrentDevice current(device_);
  for (std::size_t i = 0; i < memory_->networks.size(); ++i) {
    memory_->networks[i]->copy_from(host_.networks()[i]);
  }
}

}  // namespace neuroshard::gpu
