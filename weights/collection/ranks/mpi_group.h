#pragma once

#include <memory>
#include <vector>

#include "weights/collection/ranks/clock_difference.h"
#include "weights/collection/ranks/hung_ranks.h"
#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// All processes that mpirun has started. MPI is up while one lives; one a process. A failure of
/// MPI itself ends all ranks with a message of MPI's, and so does the death of a rank; a rank that
/// hangs ends them as the policy says.
class MpiGroup : public RankGroup {
 public:
  explicit MpiGroup(HangPolicy policy);
  ~MpiGroup() override;
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;

  void broadcast(std::span<std::byte> bytes) const override;
  [[nodiscard]] std::vector<double> gather(double value) const override;
  [[nodiscard]] bool any(bool value) const override;
  void all_to_all(const void* send, const PeerParts& sent, void* receive, const PeerParts& received,
                  std::size_t element_bytes) const override;
  void all_reduce(std::span<float> values) const override;
  [[nodiscard]] Clock::time_point common_start(std::chrono::nanoseconds ahead) const override;
  void compare_clocks() override;

  /// Returns once `done` returns true, which it does when all ranks have come to where this one is:
  /// for work of GPUs, of which MPI does not know. A rank that hangs ends it as other waits.
  void await(const std::function<bool()>& done) const { waits_->await(done); }

  /// Finds by how much rank 0's clock is ahead of that of `other`, as compare_clocks does for other
  /// machines. The result is on rank `other`. Called by both.
  [[nodiscard]] ClockDifference compare_clock_with(int other, int rounds) const;

 private:
  HangPolicy policy_;
  std::unique_ptr<RankWaits> waits_;
  std::chrono::nanoseconds ahead_{0};
  std::vector<int> machines_;  ///< [size]: of each rank, the lowest rank on its machine.
};

}  // namespace neuroshard::ranks
