#include "core/placement/team_backend.h"

#include <algorithm>
#include <vector>

#include "core/tables/row_ids.h"

namespace neuroshard {
namespace {

// Below this a second thread costs more than it brings.
constexpr std::size_t kMinCandidatesPerPart = 4;
constexpr std::size_t kMostRememberedBytes = std::size_t{64} << 20;

/// Deals the candidates of a batch out to several sessions, one per thread. Each session remembers
/// for itself; candidates that have come up before are not dealt out at all.
class ParallelSession final : public PlacementSession {
 public:
  /// Borrows `lease` and `backend`, whose sessions do the work.
  ParallelSession(ThreadTeam::Lease& lease, const Backend& backend, const PlacementProblem& problem)
      : lease_(lease), parts_(lease.threads()), dim_limits_(problem.dim_limits.size()) {
    for (Part& part : parts_) part.session = backend.start(problem);
  }

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override {
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
    const std::size_t used =
        std::clamp<std::size_t>(fresh / kMinCandidatesPerPart, 1, parts_.size());
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

  [[nodiscard]] std::optional<std::vector<std::uint32_t>> assignments(
      std::span<const std::uint32_t> pieces, int limit) override {
    return parts_.front().session->assignments(pieces, limit);
  }

  [[nodiscard]] PlacementCounters counters() const override {
    PlacementCounters total;
    for (const Part& part : parts_) total += part.session->counters();
    total.greedy_runs = greedy_runs_;  // Candidates that come again do not reach a part.
    return total;
  }

 private:
  struct Part {
    std::unique_ptr<PlacementSession> session;
    CandidateBatch candidates;
    std::vector<CandidateResult> results;
  };
  ThreadTeam::Lease& lease_;
  std::vector<Part> parts_;
  std::size_t dim_limits_;
  std::uint64_t greedy_runs_ = 0;
  RowIds orders_;                         ///< Candidates by their ordered pieces.
  std::vector<CandidateResult> results_;  ///< Result of each order.
  std::vector<std::uint32_t> order_of_;   ///< Order of each candidate of the batch.
};

}  // namespace

std::unique_ptr<PlacementSession> TeamBackend::start(const PlacementProblem& problem) const {
  return std::make_unique<ParallelSession>(team_, inner(), problem);
}

}  // namespace neuroshard
