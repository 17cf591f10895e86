#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace neuroshard {

/// `threads`, or one per core if it is 0.
[[nodiscard]] int thread_count(int threads);

/// Threads that share out numbered jobs, again and again. Jobs may be as short as ten microseconds:
/// idle threads spin for a while before they sleep, since a search comes back with its next level
/// in no time, and a round does not wait for threads that the system has not woken yet.
///
/// Who runs which job is left to chance (each thread takes its jobs in ascending order). A job must
/// write only what belongs to its number; then results do not depend on the number of threads.
///
/// In a child of fork() the threads do not exist: the caller runs all jobs, and the team can be
/// destroyed.
class ThreadTeam {
 public:
  /// Number of the job, and of the thread that runs it (below threads(), 0 for the caller) for
  /// scratch memory.
  using Job = std::function<void(std::size_t job, std::size_t thread)>;
  /// Starts a thread that calls `serve`; throws std::system_error if the system has no more.
  using StartThread = std::function<std::thread(std::function<void()> serve)>;

  /// `threads` counts the caller of run(); 0 means one per core. Where the system refuses threads
  /// (ulimit, memory, limits of a container) the team is smaller, and shortage() says so.
  explicit ThreadTeam(int threads, const StartThread& start = start_thread);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Threads that could be started, plus the caller of run().
  [[nodiscard]] std::size_t threads() const;
  /// Empty, or how many of the threads asked for are missing and what to do about it.
  [[nodiscard]] std::string shortage() const;

  /// The right to give the team work, for one caller at a time.
  class Lease {
   public:
    /// Runs jobs 0, ..., jobs - 1, at most 2^31, and returns when all are done. Throws what a
    /// job threw (if several did, the one of the lowest number); jobs not begun by then are
    /// dropped.
    void run(std::size_t jobs, const Job& job) { team_->run_round(jobs, job); }
    [[nodiscard]] std::size_t threads() const { return team_->threads(); }

   private:
    friend class ThreadTeam;
    struct GiveBack {
      void operator()(ThreadTeam* team) const {
        team->leased_.store(false, std::memory_order_release);
      }
    };
    explicit Lease(ThreadTeam& team) : team_(&team) {}
    std::unique_ptr<ThreadTeam, GiveBack> team_;
  };
  /// Nothing if the team is at work for somebody else, or for a job that asks.
  [[nodiscard]] std::optional<Lease> try_lease();

  /// As Lease::run(). If the team is at work, the caller runs all jobs itself.
  void run(std::size_t jobs, const Job& job);

 private:
  // Number of jobs of the round in the high half, next job to be taken in the low half. One word,
  // so that a thread that wakes late takes a job of the round that is on, or none.
  using State = std::uint64_t;
  static constexpr State kStopped = ~State{0};

  [[nodiscard]] static std::thread start_thread(std::function<void()> serve);
  [[nodiscard]] bool in_child_process() const;
  void run_round(std::size_t jobs, const Job& job);
  [[nodiscard]] bool take_one_job(std::size_t thread);
  void note_failure(std::size_t job);
  void serve(std::size_t thread);

  std::atomic<bool> leased_{false};
  std::atomic<State> state_{0};
  std::atomic<std::uint32_t> changes_{0};  ///< Changes of state_, except by taking a job.
  std::atomic<std::uint32_t> unfinished_{0};
  const Job* job_ = nullptr;  ///< Job of the current round.
  std::mutex failure_mutex_;
  std::atomic<bool> failed_{false};
  std::size_t failed_job_ = 0;
  std::exception_ptr failure_;
  std::size_t wanted_;
  pid_t process_;  ///< The one that the threads belong to.
  std::vector<std::thread> others_;
};

}  // namespace neuroshard
