#include "core/worker_pool.h"

#include <utility>

namespace neuroshard {
namespace {

constexpr int kSpinsBeforeSleep = 4000;  // Some tens of microseconds.

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

constexpr std::uint64_t round_of(std::uint64_t state) { return state >> 32; }
constexpr std::uint64_t jobs_of(std::uint64_t state) { return (state >> 16) & 0xFFFF; }
constexpr std::uint64_t next_of(std::uint64_t state) { return state & 0xFFFF; }

}  // namespace

WorkerPool::WorkerPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  stopping_ = true;
  state_ = (round_of(state_) + 1) << 32;
  state_.notify_all();
}

std::optional<WorkerPool::Lease> WorkerPool::try_lease() {
  std::unique_lock lock(lease_, std::try_to_lock);
  if (!lock) return std::nullopt;
  return Lease(*this, std::move(lock));
}

bool WorkerPool::take_one_job() {
  State state = state_.load(std::memory_order_acquire);
  do {
    if (next_of(state) >= jobs_of(state)) return false;
  } while (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel));
  try {
    (*job_)(static_cast<int>(next_of(state)));
  } catch (...) {
    const std::scoped_lock lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  unfinished_.fetch_sub(1, std::memory_order_acq_rel);
  return true;
}

void WorkerPool::work() {
  while (!stopping_) {
    if (take_one_job()) continue;
    const State idle = state_.load(std::memory_order_acquire);
    if (next_of(idle) < jobs_of(idle)) continue;
    for (int spin = 0; spin < kSpinsBeforeSleep && state_ == idle; ++spin) relax();
    state_.wait(idle);
  }
}

void WorkerPool::Lease::run(int jobs, const std::function<void(int)>& job) {
  if (jobs == 1) return job(0);
  WorkerPool& pool = *pool_;
  pool.job_ = &job;
  pool.failure_ = nullptr;
  pool.unfinished_ = jobs;
  pool.state_ = ((round_of(pool.state_) + 1) << 32) | (static_cast<State>(jobs) << 16);
  pool.state_.notify_all();
  while (pool.take_one_job()) {
  }
  for (int spin = 0; pool.unfinished_.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpinsBeforeSleep) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  if (pool.failure_) std::rethrow_exception(pool.failure_);
}

}  // namespace neuroshard
