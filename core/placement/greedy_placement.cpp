#include "core/placement/greedy_placement.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace neuroshard {

GreedyPlacement::GreedyPlacement(const CpuKernels& kernels, const PackedComputeModel& model,
                                 const PlacementProblem& problem)
    : kernels_(kernels),
      problem_(problem),
      width_(padded_width(model.table_network.outputs())),
      head_(kernels, model.head, /*relu_last=*/false) {
  const auto devices = static_cast<std::size_t>(problem.devices);
  // Padding is never the cheapest.
  const auto padded = static_cast<std::size_t>(padded_width(problem.devices));
  cost_ms_.resize(padded, std::numeric_limits<float>::infinity());
  memory_.resize(padded);
  dim_sum_.resize(padded);
  sums_.resize(devices * static_cast<std::size_t>(width_));
  compute_ms_.resize(devices);
  dim_sums_.resize(devices);
  head_.run(sums_.data(), width_, 1, &empty_ms_, 1);
}

int GreedyPlacement::choose_allowed(std::uint32_t piece, std::int64_t max_memory,
                                    std::int64_t max_dim_sum) const {
  allowed_ms_.assign(cost_ms_.begin(), cost_ms_.end());
  for (std::size_t d = 0; d < compute_ms_.size(); ++d) {
    if (!problem_.rules->allow(piece, d)) {
      allowed_ms_[d] = std::numeric_limits<float>::infinity();
    }
  }
  return kernels_.choose_device(allowed_ms_.data(), memory_.data(), dim_sum_.data(),
                                problem_.devices, max_memory, max_dim_sum);
}

bool GreedyPlacement::run(std::span<const std::uint32_t> order, std::int64_t dim_limit) {
  // An empty device costs 0 here but head(0) in the end, as in the published code.
  std::fill_n(cost_ms_.begin(), problem_.devices, 0.0F);
  std::fill(memory_.begin(), memory_.end(), 0);
  const PlacementRules* const rules = problem_.rules;
  if (rules != nullptr) {
    for (std::size_t d = 0; d < compute_ms_.size(); ++d) {
      cost_ms_[d] = rules->compute.compute_ms(d, 0.0F);
    }
    std::copy(rules->base_bytes.begin(), rules->base_bytes.end(), memory_.begin());
  }
  std::fill(dim_sum_.begin(), dim_sum_.end(), 0);
  std::fill(sums_.begin(), sums_.end(), 0.0F);
  device_of_.resize(order.size());
  for (std::size_t position = 0; position < order.size(); ++position) {
    if (position % kStepsBetweenStops == 0 && problem_.stop != nullptr &&
        problem_.stop->reached()) {
      return false;
    }
    const std::uint32_t piece = order[position];
    const std::int64_t size = problem_.size_bytes[piece];
    const std::int64_t dim = problem_.dims[piece];
    const std::int64_t max_memory = problem_.memory_bytes - size;
    const int device =
        rules == nullptr || rules->set_of_piece[piece] == PlacementRules::kAnyDevice
            ? kernels_.choose_device(cost_ms_.data(), memory_.data(), dim_sum_.data(),
                                     problem_.devices, max_memory, dim_limit - dim)
            : choose_allowed(piece, max_memory, dim_limit - dim);
    if (device < 0) return false;
    const auto d = static_cast<std::size_t>(device);
    float* sum = sums_.data() + d * static_cast<std::size_t>(width_);
    kernels_.add(sum, problem_.embeddings.data() + piece * static_cast<std::size_t>(width_), width_,
                 sum);
    head_.run(sum, width_, 1, &cost_ms_[d], 1);
    if (rules != nullptr) cost_ms_[d] = rules->compute.compute_ms(d, cost_ms_[d]);
    ++head_evaluations_;
    memory_[d] += size;
    dim_sum_[d] += dim;
    device_of_[position] = device;
  }
  for (std::size_t d = 0; d < compute_ms_.size(); ++d) {
    const float empty_ms = rules == nullptr ? empty_ms_ : rules->compute.compute_ms(d, empty_ms_);
    compute_ms_[d] = dim_sum_[d] == 0 ? empty_ms : cost_ms_[d];
    dim_sums_[d] = static_cast<float>(dim_sum_[d]);
  }
  return true;
}

}  // namespace neuroshard
