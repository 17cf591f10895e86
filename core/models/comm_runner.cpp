#include "core/models/comm_runner.h"

#include <algorithm>
#include <cstddef>

#include "core/models/seen_offsets.h"
#include "core/models/symmetric_comm_features.h"

namespace neuroshard {
namespace {

// Rows of the network that are in flight at once; bounds the scratch memory for any device count.
constexpr int kTargetDenseRows = 96;
constexpr int kTargetSymmetricRows = 8 * kColumnBlock;

int block_rows(bool symmetric, int devices, int most_rows) {
  const int target = symmetric ? kTargetSymmetricRows / devices : kTargetDenseRows;
  return std::max(1, std::min(target, most_rows));
}

int padded_columns(int rows) {
  return (rows + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

}  // namespace

CommRunner::CommRunner(const CpuKernels& kernels, const PackedCommNetwork& network, int devices,
                       int most_rows)
    : network_(network),
      devices_(devices),
      block_rows_(block_rows(network.symmetric, devices, most_rows)),
      kernels_(kernels),
      mlp_(kernels, network.mlp, /*relu_last=*/false, block_rows_),
      log2_devices_(log2_of_devices(devices)) {
  last_offsets_ms_.resize(static_cast<std::size_t>(block_rows_));
  if (network.nodes && network.nodes->devices() == devices) {
    nodes_ = &*network.nodes;
    seen_.resize(static_cast<std::size_t>(block_rows_) * static_cast<std::size_t>(devices));
  }
  if (network.symmetric) {
    for (const PackedLayer& layer : network.mlp.layers) layers_.push_back(layer.view());
    input_stride_ = padded_columns(block_rows_ * devices);
    inputs_.resize(static_cast<std::size_t>(kSymmetricCommFeatures) *
                   static_cast<std::size_t>(input_stride_));
    const int width = std::max(network.mlp.scratch_width(), kSymmetricCommFeatures);
    for (auto& scratch : scratch_) scratch.resize(static_cast<std::size_t>(width) * kColumnBlock);
    if (block_rows_ == 1) equal_.emplace(devices);
  } else {
    input_stride_ = padded_width(network.mlp.inputs());
    output_stride_ = padded_width(devices);
    const auto rows = static_cast<std::size_t>(block_rows_);
    inputs_.resize(rows * static_cast<std::size_t>(input_stride_));
    outputs_.resize(rows * static_cast<std::size_t>(output_stride_));
  }
}

void CommRunner::run(const float* dim_sums, const float* start_offsets_ms, int rows,
                     float* cost_ms) {
  for (int first = 0; first < rows; first += block_rows_) {
    const int block = std::min(block_rows_, rows - first);
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(first) * devices_;
    const float* offsets = start_offsets_ms == nullptr ? nullptr : start_offsets_ms + skip;
    const float* columns = seen(dim_sums + skip, block);
    if (offsets != nullptr) find_last_offsets(offsets, block);
    if (network_.symmetric) {
      run_symmetric(columns, offsets, block, cost_ms + skip);
    } else {
      run_dense(columns, offsets, block, cost_ms + skip);
    }
    if (offsets != nullptr) add_unseen_waits(offsets, block, cost_ms + skip);
  }
}

void CommRunner::find_last_offsets(const float* start_offsets_ms, int rows) {
  for (int row = 0; row < rows; ++row) {
    const float* of_row = start_offsets_ms + static_cast<std::ptrdiff_t>(row) * devices_;
    float last = 0.0F;
    for (int d = 0; d < devices_; ++d) last = std::max(last, of_row[d]);
    last_offsets_ms_[static_cast<std::size_t>(row)] = last;
  }
}

float CommRunner::share_of(int row) const {
  return seen_share(last_offsets_ms_[static_cast<std::size_t>(row)], network_.most_offset_ms);
}

void CommRunner::add_unseen_waits(const float* start_offsets_ms, int rows, float* cost_ms) const {
  for (int row = 0; row < rows; ++row) {
    const float share = share_of(row);
    if (!(share < 1.0F)) continue;
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(row) * devices_;
    for (std::ptrdiff_t i = skip; i < skip + devices_; ++i) {
      cost_ms[i] = with_unseen_wait(cost_ms[i], start_offsets_ms[i],
                                    last_offsets_ms_[static_cast<std::size_t>(row)], share);
    }
  }
}

const float* CommRunner::seen(const float* dim_sums, int rows) {
  if (nodes_ == nullptr) return dim_sums;
  const auto devices = static_cast<std::size_t>(devices_);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    nodes_->see({dim_sums + row * devices, devices}, {seen_.data() + row * devices, devices});
  }
  return seen_.data();
}

void CommRunner::run_dense(const float* dim_sums, const float* start_offsets_ms, int rows,
                           float* cost_ms) {
  const float* mean = network_.features.mean.data();
  const float* std = network_.features.std.data();
  for (int row = 0; row < rows; ++row) {
    float* x = inputs_.data() + static_cast<std::ptrdiff_t>(row) * input_stride_;
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(row) * devices_;
    for (int d = 0; d < devices_; ++d) x[d] = (dim_sums[skip + d] - mean[d]) / std[d];
    if (start_offsets_ms == nullptr) continue;
    const float share = share_of(row);
    for (int d = 0; d < devices_; ++d) {
      const int i = devices_ + d;
      x[i] = (share * start_offsets_ms[skip + d] - mean[i]) / std[i];
    }
  }
  mlp_.run(inputs_.data(), input_stride_, rows, outputs_.data(), output_stride_);
  for (int row = 0; row < rows; ++row) {
    std::copy_n(outputs_.data() + static_cast<std::ptrdiff_t>(row) * output_stride_, devices_,
                cost_ms + static_cast<std::ptrdiff_t>(row) * devices_);
  }
}

// Inputs that the devices of a placement share are normalised once.
void CommRunner::run_symmetric(const float* dim_sums, const float* start_offsets_ms, int rows,
                               float* cost_ms) {
  const float* mean = network_.features.mean.data();
  const float* std = network_.features.std.data();
  const auto normalized = [&](float x, int i) { return (x - mean[i]) / std[i]; };
  const bool are_equal = equal_ && equal_->find(dim_sums, start_offsets_ms);
  const int of_row = are_equal ? equal_->kinds() : devices_;
  const float* const own_dim_sums = are_equal ? equal_->dim_sums() : dim_sums;
  const float* const own_offsets_ms = are_equal ? equal_->start_offsets_ms() : start_offsets_ms;
  const int columns = rows * of_row;
  float* const dim_column = inputs_.data();
  float* const offset_column = dim_column + input_stride_;
  for (int n = 0; n < columns; ++n) dim_column[n] = normalized(own_dim_sums[n], 0);
  if (start_offsets_ms == nullptr) {
    std::fill_n(offset_column, columns, normalized(0.0F, 1));
  }
  for (int row = 0; row < rows; ++row) {
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(row) * devices_;
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(row) * of_row;
    const float share = start_offsets_ms == nullptr ? 1.0F : share_of(row);
    for (std::ptrdiff_t n = first; start_offsets_ms != nullptr && n < first + of_row; ++n) {
      offset_column[n] = normalized(share * own_offsets_ms[n], 1);
    }
    const auto shared = shared_comm_features(
        dim_sums + skip, start_offsets_ms == nullptr ? nullptr : start_offsets_ms + skip, devices_,
        log2_devices_);
    float* column = offset_column + first;
    for (std::size_t i = 0; i < shared.size(); ++i) {
      column += input_stride_;
      const int input = static_cast<int>(i) + 2;
      const float raw = is_offset_input(input) ? share * shared[i] : shared[i];
      std::fill_n(column, of_row, normalized(raw, input));
    }
  }
  kernels_.mlp_columns(layers_.data(), static_cast<int>(layers_.size()), inputs_.data(),
                       input_stride_, columns, {scratch_[0].data(), scratch_[1].data()},
                       are_equal ? equal_->cost_ms() : cost_ms);
  if (are_equal) equal_->hand_out(cost_ms);
}

}  // namespace neuroshard
