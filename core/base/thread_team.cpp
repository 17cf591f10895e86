#include "core/base/thread_team.h"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace neuroshard {
namespace {

constexpr int kSpinsBeforeSleep = 4000;  // They take some tens of microseconds.

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

constexpr std::uint64_t jobs_of(std::uint64_t state) { return state >> 32; }
constexpr std::uint64_t next_of(std::uint64_t state) { return state & 0xFFFF'FFFF; }

// Spins, then sleeps, until `value` is no longer `old`.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpinsBeforeSleep; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

int thread_count(int threads) {
  return threads > 0 ? threads
                     : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::thread ThreadTeam::start_thread(std::function<void()> serve) {
  return std::thread(std::move(serve));
}

ThreadTeam::ThreadTeam(int threads, const StartThread& start)
    : wanted_(static_cast<std::size_t>(thread_count(threads))), process_(getpid()) {
  others_.reserve(wanted_ - 1);
  for (std::size_t thread = 1; thread < wanted_; ++thread) {
    try {
      others_.push_back(start([this, thread] { serve(thread); }));
    } catch (const std::system_error&) {
      break;
    } catch (const std::bad_alloc&) {
      break;
    }
  }
}

ThreadTeam::~ThreadTeam() {
  if (in_child_process()) {
    // There is nothing to join, and the destructor of a thread that is not joined ends the process.
    for (std::thread& thread : others_) std::construct_at(&thread);
    return;
  }
  state_ = kStopped;
  ++changes_;
  changes_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

bool ThreadTeam::in_child_process() const { return process_ != getpid(); }

std::size_t ThreadTeam::threads() const { return in_child_process() ? 1 : others_.size() + 1; }

std::string ThreadTeam::shortage() const {
  const std::size_t there = threads();
  if (there == wanted_) return {};
  return std::to_string(there) + " of " + std::to_string(wanted_) + " threads at work: " +
         (in_child_process() ? "the others do not exist after fork()"
                             : "the system starts no more; look at ulimit -u, ulimit -v and the "
                               "limits of the container, or ask for fewer");
}

std::optional<ThreadTeam::Lease> ThreadTeam::try_lease() {
  if (leased_.exchange(true, std::memory_order_acquire)) return std::nullopt;
  return Lease(*this);
}

void ThreadTeam::run(std::size_t jobs, const Job& job) {
  if (auto lease = try_lease()) return lease->run(jobs, job);
  for (std::size_t i = 0; i < jobs; ++i) job(i, 0);
}

void ThreadTeam::note_failure(std::size_t job) {
  const std::scoped_lock lock(failure_mutex_);
  if (failure_ && failed_job_ < job) return;
  failure_ = std::current_exception();
  failed_job_ = job;
  failed_ = true;
}

bool ThreadTeam::take_one_job(std::size_t thread) {
  State state = state_.load(std::memory_order_acquire);
  do {
    if (next_of(state) >= jobs_of(state)) return false;
  } while (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel));
  if (!failed_.load(std::memory_order_relaxed)) {
    const auto job = static_cast<std::size_t>(next_of(state));
    try {
      (*job_)(job, thread);
    } catch (...) {
      note_failure(job);
    }
  }
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  return true;
}

void ThreadTeam::serve(std::size_t thread) {
  for (;;) {
    // Read before the state: a change that comes after the look at the state then ends the wait.
    const std::uint32_t changes = changes_.load(std::memory_order_acquire);
    if (state_.load(std::memory_order_acquire) == kStopped) return;
    while (take_one_job(thread)) {
    }
    wait_while(changes_, changes);
  }
}

void ThreadTeam::run_round(std::size_t jobs, const Job& job) {
  if (jobs < 2 || others_.empty()) {
    for (std::size_t i = 0; i < jobs; ++i) job(i, 0);
    return;
  }
  job_ = &job;
  failed_ = false;
  unfinished_ = static_cast<std::uint32_t>(jobs);
  state_ = static_cast<State>(jobs) << 32;
  ++changes_;
  changes_.notify_all();
  while (take_one_job(0)) {
  }
  while (const std::uint32_t unfinished = unfinished_.load(std::memory_order_acquire)) {
    wait_while(unfinished_, unfinished);
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace neuroshard
