#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weights/collection/ranks/exchange.h"

namespace neuroshard::ranks {

/// All processes that mpirun has started. MPI is up while one lives; one a process. A failure of
/// MPI itself ends all ranks with a message of MPI's. Every function but `abort` and the simple
/// ones is called by all ranks at once.
class RankGroup {
 public:
  RankGroup();
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Among the ranks of this machine.
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int nodes() const { return nodes_; }

  /// Rank 0's bytes to all.
  void broadcast(std::span<std::byte> bytes) const;
  /// One number of each rank, in order, at rank 0; empty elsewhere.
  [[nodiscard]] std::vector<double> gather(double value) const;
  /// True on every rank if `value` is on any.
  [[nodiscard]] bool any(bool value) const;

  /// An instant that all ranks agree on and that lies `ahead` after the last of them has come here,
  /// by the clock of this rank.
  [[nodiscard]] Clock::time_point common_start(std::chrono::nanoseconds ahead) const;

  /// Compares the clocks of other machines with rank 0's; those of one machine are the same. Clocks
  /// drift, so do it often. Precise to half the shortest round trip of a message.
  void compare_clocks();

  /// What rank 0's clock shows more than this rank's, by the round trips of messages, as
  /// compare_clocks does for other machines. `rounds` of them; the shortest counts.
  struct ClockDifference {
    std::chrono::nanoseconds ahead{0};
    std::chrono::nanoseconds round_trip{0};
  };
  [[nodiscard]] ClockDifference compare_clock_with(int other, int rounds) const;

  /// Ends all ranks at once with this exit code.
  [[noreturn]] static void abort(int exit_code);

 private:
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int nodes_ = 1;
  std::vector<char> far_;  // Of each rank: not on rank 0's machine.
  std::chrono::nanoseconds ahead_{0};
};

}  // namespace neuroshard::ranks
