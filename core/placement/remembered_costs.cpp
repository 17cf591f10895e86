#include "core/placement/remembered_costs.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/models/final_cost.h"

namespace neuroshard {
namespace {

// Floats of a scratch row times rows: a batch that fills the kernels and stays in the cache.
constexpr std::size_t kRememberedFloats = 1 << 11;

bool reached(const StopCondition* stop) { return stop != nullptr && stop->reached(); }

}  // namespace

RememberedCosts::RememberedCosts(const CpuKernels& kernels, const PackedCommModel& comm,
                                 int devices)
    : devices_(devices),
      forward_(kernels, comm.forward, devices),
      backward_(kernels, comm.backward, devices) {
  const auto width = static_cast<std::size_t>(devices);
  const std::size_t floats = std::max<std::size_t>(1, kRememberedFloats / width) * width;
  dim_sums_.resize(floats);
  offsets_ms_.resize(floats);
  forward_ms_.resize(floats);
}

std::uint32_t RememberedCosts::note(std::span<const std::uint32_t> states,
                                    std::span<const float> compute_ms,
                                    std::span<const std::uint32_t> dim_sums) {
  const std::size_t known = placements_.size();
  const std::uint32_t placement = placements_.find_or_add(states);
  if (placement < known) return placement;
  noted_dim_row_.push_back(dim_rows_.find_or_add(dim_sums));
  noted_compute_ms_.insert(noted_compute_ms_.end(), compute_ms.begin(), compute_ms.end());
  return placement;
}

void RememberedCosts::score_backward(const StopCondition* stop) {
  const auto width = static_cast<std::size_t>(devices_);
  const std::size_t batch = dim_sums_.size() / width;
  std::size_t first = backward_ms_.size() / width;
  backward_ms_.resize(dim_rows_.size() * width);
  for (; first < dim_rows_.size(); first += batch) {
    if (reached(stop)) return;
    const std::size_t rows = std::min(batch, dim_rows_.size() - first);
    for (std::size_t r = 0; r < rows; ++r) {
      std::ranges::copy(dim_rows_.row(static_cast<std::uint32_t>(first + r)),
                        dim_sums_.begin() + static_cast<std::ptrdiff_t>(r * width));
    }
    backward_.run(dim_sums_.data(), nullptr, static_cast<int>(rows),
                  backward_ms_.data() + first * width);
  }
}

void RememberedCosts::score_noted(const StopCondition* stop) {
  score_backward(stop);
  const auto width = static_cast<std::size_t>(devices_);
  const std::size_t batch = dim_sums_.size() / width;
  for (std::size_t first = 0; first < noted_dim_row_.size(); first += batch) {
    const std::size_t rows = std::min(batch, noted_dim_row_.size() - first);
    if (reached(stop)) {
      cost_ms_.insert(cost_ms_.end(), rows, std::numeric_limits<double>::infinity());
      continue;
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint32_t dim_row = noted_dim_row_[first + r];
      std::ranges::copy(dim_rows_.row(dim_row),
                        dim_sums_.begin() + static_cast<std::ptrdiff_t>(r * width));
      start_offsets(noted_compute_ms_.data() + (first + r) * width,
                    backward_ms_.data() + dim_row * width, devices_,
                    offsets_ms_.data() + r * width);
    }
    forward_.run(dim_sums_.data(), offsets_ms_.data(), static_cast<int>(rows), forward_ms_.data());
    for (std::size_t r = 0; r < rows; ++r) {
      cost_ms_.push_back(slowest_device_ms(noted_compute_ms_.data() + (first + r) * width,
                                           backward_ms_.data() + noted_dim_row_[first + r] * width,
                                           forward_ms_.data() + r * width, devices_));
    }
  }
  noted_dim_row_.clear();
  noted_compute_ms_.clear();
}

std::size_t RememberedCosts::bytes() const {
  return placements_.bytes() + placements_.size() * sizeof(double) + dim_rows_.bytes() +
         dim_rows_.size() * static_cast<std::size_t>(devices_) * sizeof(float) +
         noted_compute_ms_.size() * sizeof(float);
}

std::size_t RememberedCosts::held_bytes() const {
  return forward_.held_bytes() + backward_.held_bytes() + placements_.held_bytes() +
         dim_rows_.held_bytes() + heap_bytes(cost_ms_) + heap_bytes(backward_ms_) +
         heap_bytes(noted_dim_row_) + heap_bytes(noted_compute_ms_) + heap_bytes(dim_sums_) +
         heap_bytes(offsets_ms_) + heap_bytes(forward_ms_);
}

void RememberedCosts::clear() {
  placements_.clear();
  dim_rows_.clear();
  cost_ms_.clear();
  backward_ms_.clear();
}

}  // namespace neuroshard
