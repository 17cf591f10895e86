#include "core/placement/parallel_session.h"

#include <algorithm>
#include <utility>

namespace neuroshard {
namespace {

// Below this a second thread costs more than it brings.
constexpr std::size_t kMinCandidatesPerPart = 4;
constexpr std::size_t kMostRememberedBytes = std::size_t{64} << 20;

}  // namespace

ParallelSession::ParallelSession(ThreadTeam::Lease& lease,
                                 std::vector<std::unique_ptr<PlacementSession>> parts,
                                 std::size_t dim_limits)
    : lease_(lease), dim_limits_(dim_limits) {
  for (auto& session : parts) parts_.push_back({std::move(session), {}, {}});
}

void ParallelSession::place(const CandidateBatch& candidates, std::span<CandidateResult> results) {
  greedy_runs_ += candidates.size() * dim_limits_;
  if (orders_.bytes() > kMostRememberedBytes) {
    orders_.clear();
    results_.clear();
  }
  const std::size_t first_new = orders_.size();
  order_of_.clear();
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    order_of_.push_back(orders_.find_or_add(candidates.pieces_of(c)));
  }
  const std::size_t fresh = orders_.size() - first_new;
  const std::size_t used = std::clamp<std::size_t>(fresh / kMinCandidatesPerPart, 1, parts_.size());
  // Neighbours go to the same part: siblings share the start of their placements.
  for (std::size_t p = 0; p < used; ++p) {
    parts_[p].candidates.clear();
    for (std::size_t i = fresh * p / used; i < fresh * (p + 1) / used; ++i) {
      parts_[p].candidates.add(orders_.row(static_cast<std::uint32_t>(first_new + i)));
    }
    parts_[p].results.resize(parts_[p].candidates.size());
  }
  lease_.run(used, [&](std::size_t p, std::size_t) {
    Part& part = parts_[p];
    part.session->place(part.candidates, part.results);
  });
  for (std::size_t p = 0; p < used; ++p) {
    results_.insert(results_.end(), parts_[p].results.begin(), parts_[p].results.end());
  }
  for (std::size_t c = 0; c < candidates.size(); ++c) results[c] = results_[order_of_[c]];
}

std::optional<std::vector<std::uint32_t>> ParallelSession::assignments(
    std::span<const std::uint32_t> pieces, int limit) {
  return parts_.front().session->assignments(pieces, limit);
}

PlacementCounters ParallelSession::counters() const {
  PlacementCounters total;
  for (const Part& part : parts_) total += part.session->counters();
  total.greedy_runs = greedy_runs_;  // Candidates that come again do not reach a part.
  return total;
}

}  // namespace neuroshard
