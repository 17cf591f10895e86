#include "core/grid_placement.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace neuroshard {

GridPlacement::GridPlacement(const CpuKernels& kernels, ShardStates& states,
                             const PlacementProblem& problem)
    : kernels_(kernels), states_(states), problem_(problem) {
  const auto devices = static_cast<std::size_t>(problem.devices);
  state_.resize(devices);
  // Padding is never the cheapest.
  cost_ms_.resize(static_cast<std::size_t>(padded_width(problem.devices)),
                  std::numeric_limits<float>::infinity());
  memory_.resize(devices);
  dim_sum_.resize(devices);
}

void GridPlacement::start(std::span<const std::uint32_t> order) {
  order_ = order;
  if (trace_.size() < order.size()) {
    trace_.resize(order.size());
    dim_after_.resize(order.size());
  }
  std::fill(state_.begin(), state_.end(), ShardStates::kEmpty);
  // An empty device costs 0 here but head(0) in the end, as in the published code.
  std::fill_n(cost_ms_.begin(), problem_.devices, 0.0F);
  std::fill(memory_.begin(), memory_.end(), 0);
  std::fill(dim_sum_.begin(), dim_sum_.end(), 0);
  placed_ = 0;
  no_room_ = false;
}

void GridPlacement::take_back_to(std::size_t step) {
  while (placed_ > step) {
    --placed_;
    const Step& last = trace_[placed_];
    const std::uint32_t piece = order_[placed_];
    state_[last.device] = last.state_before;
    cost_ms_[last.device] = last.cost_before_ms;
    memory_[last.device] -= problem_.size_bytes[piece];
    dim_sum_[last.device] -= problem_.dims[piece];
  }
}

GridPlacement::Outcome GridPlacement::run(std::int64_t dim_limit) {
  const bool first_run = placed_ == 0 && !no_room_;
  if (!first_run) {
    const auto end = dim_after_.begin() + static_cast<std::ptrdiff_t>(placed_);
    const auto exceeding =
        std::find_if(dim_after_.begin(), end, [&](std::int64_t dim) { return dim > dim_limit; });
    if (exceeding == end) return Outcome::kUnchanged;
    take_back_to(static_cast<std::size_t>(exceeding - dim_after_.begin()));
  }
  no_room_ = false;
  for (; placed_ < order_.size(); ++placed_) {
    const std::uint32_t piece = order_[placed_];
    const std::int64_t size = problem_.size_bytes[piece];
    const std::int64_t dim = problem_.dims[piece];
    const int chosen =
        kernels_.choose_device(cost_ms_.data(), memory_.data(), dim_sum_.data(), problem_.devices,
                               problem_.memory_bytes - size, dim_limit - dim);
    if (chosen < 0) {
      no_room_ = true;
      return Outcome::kNoRoom;
    }
    const auto device = static_cast<std::size_t>(chosen);
    trace_[placed_] = {static_cast<std::uint32_t>(device), state_[device], cost_ms_[device]};
    const ShardStates::Next next = states_.add(state_[device], piece);
    state_[device] = next.state;
    cost_ms_[device] = next.cost_ms;
    memory_[device] += size;
    dim_sum_[device] += dim;
    dim_after_[placed_] = dim_sum_[device];
    ++steps_;
  }
  return Outcome::kPlaced;
}

}  // namespace neuroshard
