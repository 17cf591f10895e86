#include "weights/training/worker_team.h"

#include <algorithm>
#include <system_error>

namespace neuroshard::training {

WorkerTeam::WorkerTeam(int threads) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t count = threads > 0 ? static_cast<std::size_t>(threads) : cores;
  threads_.reserve(count - 1);
  for (std::size_t worker = 1; worker < count; ++worker) {
    try {
      threads_.emplace_back([this, worker] { serve(worker); });
    } catch (const std::system_error&) {
      break;  // The system has no more threads; fewer give the same results.
    }
  }
}

WorkerTeam::~WorkerTeam() {
  stop_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::run(std::size_t tasks, const Task& task) {
  if (threads_.empty() || tasks < 2) {
    for (std::size_t i = 0; i < tasks; ++i) task(i, 0);
    return;
  }
  task_ = &task;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<std::uint32_t>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  take_tasks(0);
  for (std::uint32_t busy = busy_.load(std::memory_order_acquire); busy != 0;
       busy = busy_.load(std::memory_order_acquire)) {
    busy_.wait(busy, std::memory_order_acquire);
  }
}

void WorkerTeam::take_tasks(std::size_t worker) {
  for (std::size_t i = next_.fetch_add(1); i < tasks_; i = next_.fetch_add(1)) (*task_)(i, worker);
}

void WorkerTeam::serve(std::size_t worker) {
  std::uint32_t seen = 0;
  while (true) {
    round_.wait(seen, std::memory_order_acquire);
    // A round starts only after all threads have finished the one before, so none is missed.
    seen = round_.load(std::memory_order_acquire);
    if (stop_) return;
    take_tasks(worker);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace neuroshard::training
