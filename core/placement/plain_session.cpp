#include "core/placement/plain_session.h"

#include <utility>

#include "core/models/final_cost.h"
#include "core/placement/cpu_cost_runner.h"

namespace neuroshard {

PlainSession::PlainSession(const CpuKernels& kernels, const PackedModels& models,
                           PlacementProblem problem)
    : problem_(std::move(problem)),
      placement_(kernels, models.compute(), problem_),
      models_(make_cpu_cost_runner(kernels, models, problem_.devices)),
      backward_ms_(static_cast<std::size_t>(problem_.devices)),
      offsets_ms_(backward_ms_.size()),
      forward_ms_(backward_ms_.size()) {}

double PlainSession::final_cost_ms() {
  const std::span<const float> compute_ms = placement_.compute_ms();
  exchange_costs(*models_, placement_.dim_sums(), compute_ms, offsets_ms_, backward_ms_,
                 forward_ms_);
  return slowest_device_ms(compute_ms.data(), backward_ms_.data(), forward_ms_.data(),
                           problem_.devices);
}

void PlainSession::place(const CandidateBatch& candidates, std::span<CandidateResult> results) {
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const std::span<const std::uint32_t> order = candidates.pieces_of(c);
    CandidateResult best;
    for (std::size_t step = 0; step < problem_.dim_limits.size(); ++step) {
      if (problem_.stop != nullptr && problem_.stop->reached()) break;
      ++counters_.greedy_runs;
      if (!placement_.run(order, problem_.dim_limits[step])) continue;
      ++counters_.comm_evaluations;
      const double cost_ms = final_cost_ms();
      if (cost_ms < best.cost_ms) best = {cost_ms, static_cast<int>(step)};
    }
    results[c] = best;
  }
}

std::optional<std::vector<std::uint32_t>> PlainSession::assignments(
    std::span<const std::uint32_t> pieces, int limit) {
  const std::int64_t dim_limit = problem_.dim_limits[static_cast<std::size_t>(limit)];
  if (!placement_.run(pieces, dim_limit)) return std::nullopt;
  return std::vector<std::uint32_t>(placement_.device_of().begin(), placement_.device_of().end());
}

PlacementCounters PlainSession::counters() const {
  PlacementCounters counters = counters_;
  counters.head_evaluations = placement_.head_evaluations();
  return counters;
}

}  // namespace neuroshard
