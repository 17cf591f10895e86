#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace neuroshard {

/// Threads that run a handful of jobs of some ten microseconds each, again and again. Idle workers
/// spin for a while before they sleep: a search comes back with the next level in no time.
class WorkerPool {
 public:
  /// Starts `threads - 1` workers; the caller of run() is the remaining thread.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// The right to call run(), for one thread at a time; nothing if another thread has it.
  class Lease {
   public:
    /// Runs job(0), ..., job(jobs - 1), at most kMaxJobs, and returns when all are done. Throws
    /// what a job threw.
    void run(int jobs, const std::function<void(int)>& job);

   private:
    friend class WorkerPool;
    Lease(WorkerPool& pool, std::unique_lock<std::mutex> lock)
        : pool_(&pool), lock_(std::move(lock)) {}
    WorkerPool* pool_;
    std::unique_lock<std::mutex> lock_;
  };
  [[nodiscard]] std::optional<Lease> try_lease();

  static constexpr int kMaxJobs = 0xFFFF;

 private:
  // Round of jobs in the high half, then the number of jobs, then the next job to be taken. One
  // word, so that a worker that wakes late can never take a job of a round that is over.
  using State = std::uint64_t;

  void work();
  bool take_one_job();

  std::mutex lease_;
  std::atomic<State> state_{0};
  std::atomic<int> unfinished_{0};
  std::atomic<bool> stopping_{false};
  const std::function<void(int)>* job_ = nullptr;  ///< Of the current round.
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<std::jthread> workers_;
};

}  // namespace neuroshard
