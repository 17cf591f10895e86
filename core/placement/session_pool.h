#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "core/placement/reuse_session.h"

namespace neuroshard {

/// Sessions that have done their work and wait for the next problem. A plan takes milliseconds, and
/// fresh memory would cost a good part of them in page faults. Thread-safe. Waiting sessions hold a
/// bounded amount of memory; those not used for longest make room. A session that threw, e.g. for
/// want of memory, does not come back: it may have stopped half-way.
class SessionPool {
 public:
  /// Enough for the sessions of 16 threads that plan common tasks, or of two that plan huge ones.
  static constexpr std::size_t kMostIdleBytes = std::size_t{512} << 20;

  /// Borrows both; they outlive the sessions.
  SessionPool(const CpuKernels& kernels, const PackedModels& models,
              std::size_t most_idle_bytes = kMostIdleBytes)
      : kernels_(kernels), models_(models), most_idle_bytes_(most_idle_bytes) {}

  /// A session for `problem` that returns to the pool when it is destroyed; the pool outlives it.
  [[nodiscard]] std::unique_ptr<PlacementSession> take(const PlacementProblem& problem);

  /// Memory of the sessions that wait.
  [[nodiscard]] std::size_t idle_bytes() const;

 private:
  class Lent;
  struct Entry {
    std::unique_ptr<ReuseSession> session;
    std::size_t bytes = 0;  ///< While it waits.
  };
  // Entries move between lists, which takes no memory and so cannot fail.
  using Entries = std::list<Entry>;

  [[nodiscard]] Entries take_idle(int devices);
  void give_back(Entries entry) noexcept;

  const CpuKernels& kernels_;
  const PackedModels& models_;
  std::size_t most_idle_bytes_;
  mutable std::mutex mutex_;
  Entries idle_;  ///< The one used last at the end.
  std::size_t idle_bytes_ = 0;
};

}  // namespace neuroshard
