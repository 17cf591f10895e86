#include "core/placement/grid_placement.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/base/heap_bytes.h"
#include "core/placement/greedy_placement.h"

namespace neuroshard {

GridPlacement::GridPlacement(const CpuKernels& kernels, ShardStates& states,
                             const PlacementProblem& problem)
    : states_(states),
      problem_(problem),
      board_(kernels, problem.devices),
      state_(static_cast<std::size_t>(problem.devices)) {
  board_.use(problem.rules);
}

void GridPlacement::start(std::span<const std::uint32_t> order) {
  const std::size_t count = order.size();
  if (trace_.size() < count) {
    trace_.resize(count);
    highest_dim_sum_.resize(count);
  }
  order_.resize(count);
  totals_ = {};
  std::int64_t dims = 0;
  std::int32_t min_dim = std::numeric_limits<std::int32_t>::max();
  std::int64_t min_size = std::numeric_limits<std::int64_t>::max();
  for (std::size_t position = count; position-- > 0;) {
    const std::uint32_t piece = order[position];
    const std::int32_t dim = problem_.dims[piece];
    const std::int64_t size = problem_.size_bytes[piece];
    order_[position] = {piece, dim, size, min_dim, min_size};
    min_dim = std::min(min_dim, dim);
    min_size = std::min(min_size, size);
    totals_.max_dim = std::max(totals_.max_dim, dim);
    totals_.max_size = std::max(totals_.max_size, size);
    totals_.dim += dim;
    totals_.size += size;
    dims |= dim;
  }
  if (dims > 0) totals_.dim_unit = dims & -dims;
  // With base loads a device may be full of less than all pieces.
  memory_limit_ = problem_.rules != nullptr ? problem_.memory_bytes
                                            : std::min(problem_.memory_bytes, totals_.size);
  board_.clear();
  std::fill(state_.begin(), state_.end(), ShardStates::kEmpty);
  placed_ = 0;
  started_ = false;
  retired_ = retired_dim_sum_ = retired_memory_ = 0;
}

std::size_t GridPlacement::held_bytes() const {
  return board_.held_bytes() + heap_bytes(state_) + heap_bytes(order_) + heap_bytes(trace_) +
         heap_bytes(highest_dim_sum_);
}

std::vector<std::uint32_t> GridPlacement::devices() const {
  std::vector<std::uint32_t> devices;
  devices.reserve(placed_);
  for (std::size_t position = 0; position < placed_; ++position) {
    devices.push_back(trace_[position].device);
  }
  return devices;
}

void GridPlacement::take_back_to(std::size_t step) {
  while (placed_ > step) {
    --placed_;
    const Step& last = trace_[placed_];
    const Position& position = order_[placed_];
    if (last.retired) {
      --retired_;
      retired_dim_sum_ -= board_.dim_sums()[last.device];
      retired_memory_ -= board_.memory()[last.device];
    }
    state_[last.device] = last.state_before;
    board_.take_back(last.device, position.size, position.dim, last.cost_before_ms,
                     last.state_before == ShardStates::kEmpty);
  }
  board_.refresh_blocks();
}

// Whether what is not on retired devices exceeds the room of all others together.
bool GridPlacement::lacks_room(std::int64_t dim_limit) const {
  const std::int64_t others = problem_.devices - retired_;
  if (totals_.dim - retired_dim_sum_ > others * dim_limit) return true;
  if (problem_.rules != nullptr) return false;  // Devices differ in room.
  std::int64_t memory = 0;
  return !__builtin_mul_overflow(others, memory_limit_, &memory) &&
         totals_.size - retired_memory_ > memory;
}

GridPlacement::Outcome GridPlacement::run(std::int64_t dim_limit) {
  // Dim sums are multiples of the unit and never exceed the total.
  const std::int64_t limit = std::min(dim_limit, totals_.dim) & -totals_.dim_unit;
  if (totals_.max_dim > limit || totals_.max_size > memory_limit_) return Outcome::kNoRoom;
  if (started_) {
    const auto end = highest_dim_sum_.begin() + static_cast<std::ptrdiff_t>(placed_);
    const auto exceeding = std::upper_bound(highest_dim_sum_.begin(), end, limit);
    if (exceeding == end) return Outcome::kUnchanged;
    take_back_to(static_cast<std::size_t>(exceeding - highest_dim_sum_.begin()));
  }
  started_ = true;
  if (lacks_room(limit)) return Outcome::kNoRoom;
  if (order_.empty()) return Outcome::kPlaced;
  const PlacementRules* const rules = problem_.rules;
  const auto choice = [&, rules](const Position& position) {
    const std::int64_t max_memory = memory_limit_ - position.size;
    const std::int64_t max_dim_sum = limit - position.dim;
    const int set =
        rules == nullptr ? PlacementRules::kAnyDevice : rules->set_of_piece[position.piece];
    return set == PlacementRules::kAnyDevice
               ? board_.choose(max_memory, max_dim_sum)
               : board_.choose_from(static_cast<std::size_t>(set), max_memory, max_dim_sum);
  };
  std::int64_t highest = placed_ == 0 ? 0 : highest_dim_sum_[placed_ - 1];
  int chosen = choice(order_[placed_]);
  while (chosen >= 0) {
    if (placed_ % kStepsBetweenStops == 0 && problem_.stop != nullptr && problem_.stop->reached()) {
      return Outcome::kStopped;
    }
    const Position& position = order_[placed_];
    const auto device = static_cast<std::size_t>(chosen);
    const ShardStates::Id state = state_[device];
    const float cost_before_ms = board_.cost_ms()[device];
    board_.put(device, position.size, position.dim);
    const std::int64_t dim_sum = board_.dim_sums()[device];
    const std::int64_t memory = board_.memory()[device];
    const bool full = dim_sum > limit - position.min_dim_after ||
                      memory > memory_limit_ - position.min_size_after;
    trace_[placed_] = {static_cast<std::uint32_t>(device), state, cost_before_ms, full};
    highest = std::max(highest, dim_sum);
    highest_dim_sum_[placed_] = highest;
    const bool last = ++placed_ == order_.size();
    // The next piece's best device among the others, usually its device, is found while this
    // device's cost is on its way.
    int other = -1;
    if (!last) {
      other = choice(order_[placed_]);
      if (other >= 0) states_.prefetch(state_[static_cast<std::size_t>(other)]);
    }
    const ShardStates::Next next = states_.add(state, position.piece);
    state_[device] = next.state;
    board_.settle(device, next.cost_ms, full);
    if (full) {
      ++retired_;
      retired_dim_sum_ += dim_sum;
      retired_memory_ += memory;
      if (lacks_room(limit)) return Outcome::kNoRoom;
    }
    if (last) return Outcome::kPlaced;
    const Position& coming = order_[placed_];
    const bool has_room = !full && (rules == nullptr || rules->allow(coming.piece, device)) &&
                          memory <= memory_limit_ - coming.size && dim_sum <= limit - coming.dim;
    chosen = has_room ? board_.better_of(other, chosen) : other;
  }
  return Outcome::kNoRoom;
}

}  // namespace neuroshard
