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
  inside_.store(0, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  take_tasks(0);
  std::uint32_t inside = inside_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
  while (inside != kClosed) {
    inside_.wait(inside, std::memory_order_acquire);
    inside = inside_.load(std::memory_order_acquire);
  }
}

// False if the round that woke this thread has ended; it may as well join a later one.
bool WorkerTeam::join_round() {
  std::uint32_t inside = inside_.load(std::memory_order_acquire);
  while ((inside & kClosed) == 0) {
    if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void WorkerTeam::take_tasks(std::size_t worker) {
  for (std::size_t i = next_.fetch_add(1); i < tasks_; i = next_.fetch_add(1)) (*task_)(i, worker);
}

void WorkerTeam::serve(std::size_t worker) {
  std::uint32_t seen = 0;
  while (true) {
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (stop_) return;
    if (!join_round()) continue;
    take_tasks(worker);
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) == kClosed + 1) inside_.notify_one();
  }
}

}  // namespace neuroshard::training
