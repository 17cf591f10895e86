#pragma once

#include <filesystem>
#include <vector>

#include "weights/collection/ranks/clock_difference.h"
#include "weights/collection/ranks/rank_group.h"
#include "weights/collection/ranks/tcp_meeting.h"

namespace neuroshard::ranks {

/// Processes that srun, mpirun or anything else has started on machines that reach each other by
/// TCP: no MPI takes part. Each rank is connected to each, so that they should be no more than some
/// hundred. When a rank is gone the others' functions throw.
class TcpGroup : public RankGroup {
 public:
  /// Throws as meet_by_file() does. One rank needs no file.
  TcpGroup(const LaunchedRank& self, const std::filesystem::path& rendezvous,
           std::chrono::seconds patience = std::chrono::seconds(120));

  void broadcast(std::span<std::byte> bytes) const override;
  [[nodiscard]] std::vector<double> gather(double value) const override;
  [[nodiscard]] bool any(bool value) const override;
  void all_to_all(const void* send, const PeerParts& sent, void* receive, const PeerParts& received,
                  std::size_t element_bytes) const override;
  void add_up(std::span<float> values) const override;
  [[nodiscard]] Clock::time_point common_start(std::chrono::nanoseconds ahead) const override;
  void compare_clocks() override;

  /// What rank 0's clock shows more than that of `other`: on rank `other`. Called by both.
  [[nodiscard]] ClockDifference compare_clock_with(int other, int rounds) const;

 private:
  // What goes to a peer and comes from it.
  struct Transfer {
    int peer;
    std::span<const std::byte> to_send;
    std::span<std::byte> to_receive;
  };

  void transfer(std::vector<Transfer> transfers) const;
  void send(int peer, std::span<const std::byte> bytes) const;
  void receive(int peer, std::span<std::byte> bytes) const;
  // One value of each rank at rank 0; empty elsewhere.
  template <typename T>
  [[nodiscard]] std::vector<T> gathered(T value) const;
  // The largest of all ranks' numbers, on all.
  [[nodiscard]] std::int64_t largest(std::int64_t number) const;

  std::vector<Socket> peers_;
  std::chrono::nanoseconds ahead_{0};
};

}  // namespace neuroshard::ranks
