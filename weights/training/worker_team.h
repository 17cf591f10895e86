#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace neuroshard::training {

/// Threads that share out numbered tasks. Who runs which task is left to chance, so a task must
/// write only what belongs to its number; then results do not depend on the number of threads.
class WorkerTeam {
 public:
  /// Task number, and the number of the worker (0 .. workers() - 1) for scratch memory. Must not
  /// throw.
  using Task = std::function<void(std::size_t task, std::size_t worker)>;

  /// `threads` counts the calling thread; 0 means one per core.
  explicit WorkerTeam(int threads);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  [[nodiscard]] std::size_t workers() const { return threads_.size() + 1; }

  /// Returns when all `tasks` are done.
  void run(std::size_t tasks, const Task& task);

 private:
  void serve(std::size_t worker);
  [[nodiscard]] bool join_round();
  void take_tasks(std::size_t worker);

  std::vector<std::thread> threads_;
  const Task* task_ = nullptr;
  std::size_t tasks_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint32_t> round_{0};  ///< Counts calls of run(); wakes the threads.
  /// Threads in the round that goes on, plus kClosed when no more may join. A round does not wait
  /// for threads that the system has not woken yet: on a busy machine that takes longer than the
  /// work.
  std::atomic<std::uint32_t> inside_{kClosed};
  static constexpr std::uint32_t kClosed = 1U << 31;
  bool stop_ = false;
};

}  // namespace neuroshard::training
