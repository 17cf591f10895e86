#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/reuse_session.h"

namespace neuroshard {

/// Sessions that have done their work and wait for the next problem. A plan takes milliseconds, and
/// fresh memory would cost a good part of them in page faults. Thread-safe. Holds as many sessions
/// as were ever in use at once. A session that threw, e.g. for want of memory, does not come back:
/// it may have stopped half-way.
class SessionPool {
 public:
  /// Borrows both; they outlive the sessions.
  SessionPool(const CpuKernels& kernels, const PackedModels& models)
      : kernels_(kernels), models_(models) {}

  /// A session for `problem` that returns to the pool when it is destroyed; the pool outlives it.
  [[nodiscard]] std::unique_ptr<PlacementSession> take(const PlacementProblem& problem);

 private:
  class Lent;

  const CpuKernels& kernels_;
  const PackedModels& models_;
  std::mutex mutex_;
  struct Shelf {
    std::vector<std::unique_ptr<ReuseSession>> idle;
    std::size_t lent = 0;
  };
  std::map<int, Shelf> shelves_;  ///< By device count.
};

}  // namespace neuroshard
