#include "core/placement/reuse_session.h"

#include "core/base/heap_bytes.h"

namespace neuroshard {
namespace {

// Bounds remembered candidates and placements; shard states have a bound of their own.
constexpr std::size_t kMostKeptBytes = std::size_t{96} << 20;

}  // namespace

ReuseSession::ReuseSession(const CpuKernels& kernels, const PackedModels& models,
                           const PlacementProblem& problem, std::size_t most_state_bytes)
    : problem_(problem),
      states_(kernels, models.compute(), problem_, most_state_bytes),
      grid_(kernels, states_, problem_),
      costs_(kernels, models.comm_for(problem_.devices), problem_.devices),
      compute_ms_(static_cast<std::size_t>(problem_.devices)),
      dim_sums_(static_cast<std::size_t>(problem_.devices)) {
  const int width = padded_width(models.compute().table_network.outputs());
  const AlignedVector<float> zero(static_cast<std::size_t>(width), 0.0F);
  MlpRunner(kernels, models.compute().head, false, 1).run(zero.data(), width, 1, &empty_ms_, 1);
}

std::uint32_t ReuseSession::note_placement() {
  const std::span<const ShardStates::Id> states = grid_.states();
  for (std::size_t d = 0; d < states.size(); ++d) {
    compute_ms_[d] = states[d] == ShardStates::kEmpty ? empty_ms_ : grid_.cost_ms()[d];
    if (problem_.rules != nullptr) {
      compute_ms_[d] = problem_.rules->compute.compute_ms(d, compute_ms_[d]);
    }
    dim_sums_[d] = static_cast<std::uint32_t>(grid_.dim_sums()[d]);
  }
  return costs_.note(states, compute_ms_, dim_sums_);
}

void ReuseSession::place_under_all_limits(std::span<const std::uint32_t> order) {
  const std::size_t limits = problem_.dim_limits.size();
  const std::size_t first = placement_of_.size();
  placement_of_.resize(first + limits, kNoPlacement);
  grid_.start(order);
  std::uint32_t placement = kNoPlacement;
  for (std::size_t step = limits; step-- > 0;) {
    switch (grid_.run(problem_.dim_limits[step])) {
      case GridPlacement::Outcome::kPlaced:
        placement = note_placement();
        break;
      case GridPlacement::Outcome::kNoRoom:
        placement = kNoPlacement;
        break;
      case GridPlacement::Outcome::kUnchanged:
        break;
      case GridPlacement::Outcome::kStopped:
        return;
    }
    placement_of_[first + step] = placement;
  }
}

bool ReuseSession::full(std::size_t pieces) const {
  return !states_.has_room_for(pieces * problem_.dim_limits.size()) ||
         orders_.bytes() + costs_.bytes() >= kMostKeptBytes;
}

std::size_t ReuseSession::held_bytes() const {
  return heap_bytes(problem_.dim_limits) + states_.held_bytes() + grid_.held_bytes() +
         costs_.held_bytes() + orders_.held_bytes() + heap_bytes(results_) + heap_bytes(order_of_) +
         heap_bytes(placement_of_) + heap_bytes(compute_ms_) + heap_bytes(dim_sums_);
}

void ReuseSession::forget() {
  counters_ = counters();
  states_.clear();
  costs_.clear();
  orders_.clear();
  results_.clear();
}

void ReuseSession::reset(const PlacementProblem& problem) {
  problem_ = problem;
  grid_.reset();
  forget();
  counters_ = {};
}

void ReuseSession::place(const CandidateBatch& candidates, std::span<CandidateResult> results) {
  const std::size_t limits = problem_.dim_limits.size();
  counters_.greedy_runs += candidates.size() * limits;
  std::size_t done = 0;
  while (done < candidates.size()) {
    // A block of candidates, cut short where memory is full.
    if (full(candidates.pieces_of(done).size())) forget();
    const std::size_t first_new = orders_.size();
    order_of_.clear();
    placement_of_.clear();
    std::size_t end = done;
    for (; end < candidates.size(); ++end) {
      const std::span<const std::uint32_t> order = candidates.pieces_of(end);
      if (end > done && full(order.size())) break;
      const std::size_t known = orders_.size();
      order_of_.push_back(orders_.find_or_add(order));
      if (order_of_.back() == known) place_under_all_limits(order);
    }
    costs_.score_noted(problem_.stop);
    for (std::size_t o = first_new; o < orders_.size(); ++o) {
      CandidateResult best;
      for (std::size_t step = 0; step < limits; ++step) {
        const std::uint32_t placement = placement_of_[(o - first_new) * limits + step];
        if (placement == kNoPlacement) continue;
        const double cost_ms = costs_.cost_ms(placement);
        if (cost_ms < best.cost_ms) best = {cost_ms, static_cast<int>(step)};
      }
      results_.push_back(best);
    }
    for (std::size_t c = done; c < end; ++c) results[c] = results_[order_of_[c - done]];
    done = end;
  }
}

std::optional<std::vector<std::uint32_t>> ReuseSession::assignments(
    std::span<const std::uint32_t> pieces, int limit) {
  if (full(pieces.size())) forget();
  grid_.start(pieces);
  const std::int64_t dim_limit = problem_.dim_limits[static_cast<std::size_t>(limit)];
  if (grid_.run(dim_limit) != GridPlacement::Outcome::kPlaced) return std::nullopt;
  return grid_.devices();
}

PlacementCounters ReuseSession::counters() const {
  PlacementCounters total = counters_;
  total.head_evaluations += states_.size() - 1;
  total.comm_evaluations += costs_.size();
  return total;
}

}  // namespace neuroshard
