#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weights/collection/ranks/exchange.h"

namespace neuroshard::ranks {

/// Parts of a buffer that a rank sends to, or receives from, each peer: `counts[peer]` elements
/// from element `first[peer]` of a buffer on.
struct PeerParts {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> first;

  /// One after the other.
  [[nodiscard]] static PeerParts packed(std::vector<std::int64_t> counts);
  /// Elements of all peers together.
  [[nodiscard]] std::int64_t total() const;
};

/// From an agreement of all ranks on an instant to the instant: more than the agreement takes to
/// reach all of them.
inline constexpr std::chrono::milliseconds kAgreementTime{1};

/// Processes or threads that measure together, one for each device. Every function but the simple
/// ones and `abort` is called by all ranks at once. They throw Error (kBackend) if another rank is
/// gone, unless the group ends all ranks then.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Among the ranks of this machine.
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int nodes() const { return nodes_; }

  /// Rank 0's bytes to all.
  virtual void broadcast(std::span<std::byte> bytes) const = 0;
  /// One number of each rank, in order, at rank 0; empty elsewhere.
  [[nodiscard]] virtual std::vector<double> gather(double value) const = 0;
  /// True on every rank if `value` is on any.
  [[nodiscard]] virtual bool any(bool value) const = 0;
  /// Each rank's elements to every other, `element_bytes` each, at most 2^31 of them.
  virtual void all_to_all(const void* send, const PeerParts& sent, void* receive,
                          const PeerParts& received, std::size_t element_bytes) const = 0;
  /// Each of `values` becomes the sum of all ranks' (all-reduce); as many on each, fewer than 2^31.
  virtual void all_reduce(std::span<float> values) const = 0;

  /// An instant that all ranks agree on and that lies `ahead` after the last of them has come here,
  /// by the clock of this rank.
  [[nodiscard]] virtual Clock::time_point common_start(std::chrono::nanoseconds ahead) const = 0;

  /// Compares the clocks of other machines with rank 0's; those of one machine are the same. Clocks
  /// drift, so do it often. Precise to half the shortest round trip of a message.
  virtual void compare_clocks() {}

 protected:
  RankGroup() = default;
  RankGroup(const RankGroup&) = default;
  RankGroup& operator=(const RankGroup&) = default;

  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int nodes_ = 1;
};

}  // namespace neuroshard::ranks
