#pragma once

#include <memory>
#include <vector>

#include "core/base/thread_team.h"
#include "core/tables/row_ids.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// Deals the candidates of a batch out to several sessions, one per thread. Each session remembers
/// for itself; candidates that have come up before are not dealt out at all.
class ParallelSession final : public PlacementSession {
 public:
  /// Borrows `lease`. `parts`: sessions for the same problem, one or more.
  ParallelSession(ThreadTeam::Lease& lease, std::vector<std::unique_ptr<PlacementSession>> parts,
                  std::size_t dim_limits);

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override;
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> assignments(
      std::span<const std::uint32_t> pieces, int limit) override;
  [[nodiscard]] PlacementCounters counters() const override;

 private:
  ThreadTeam::Lease& lease_;
  struct Part {
    std::unique_ptr<PlacementSession> session;
    CandidateBatch candidates;
    std::vector<CandidateResult> results;
  };
  std::vector<Part> parts_;
  std::size_t dim_limits_;
  std::uint64_t greedy_runs_ = 0;
  RowIds orders_;                         ///< Candidates by their ordered pieces.
  std::vector<CandidateResult> results_;  ///< Result of each order.
  std::vector<std::uint32_t> order_of_;   ///< Order of each candidate of the batch.
};

}  // namespace neuroshard
