#include "weights/collection/ranks/hung_ranks.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stop_token>

namespace neuroshard::ranks {
namespace {

// Messages of ranks that have given up; they are empty.
constexpr int kGaveUpTag = 1;
// How often a rank that waits looks for such messages.
constexpr std::chrono::milliseconds kLook{50};
// How long the others have to answer: waiting ranks of a busy machine, too.
constexpr std::chrono::seconds kAnswerTime{3};

std::string longer_timeout(const HangPolicy& policy) {
  return "--rank-timeout-s " + std::to_string(2 * policy.timeout.count());
}

}  // namespace

RankWaits::RankWaits(int rank, int size, HangPolicy policy)
    : rank_(rank), size_(size), policy_(std::move(policy)) {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  std::vector<Name> all(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(),
                 static_cast<int>(own.size()), MPI_CHAR, MPI_COMM_WORLD, &request);
  await([&] {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  for (const Name& name : all) hosts_.emplace_back(name.data());
}

void RankWaits::await(const std::function<bool()>& done) const {
  const bool patient = policy_.timeout.count() == 0;
  const Clock::time_point start = Clock::now();
  Clock::time_point next_look = start + kLook;
  while (!done()) {
    std::this_thread::yield();
    const Clock::time_point now = Clock::now();
    if (patient || now < next_look) continue;
    if (now - start >= policy_.timeout || somebody_gave_up()) give_up();
    next_look = now + kLook;
  }
}

bool RankWaits::somebody_gave_up() const {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, kGaveUpTag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  return found != 0;
}

void RankWaits::give_up() const {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_BYTE, peer, kGaveUpTag, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);  // The run ends before anybody could ask for it.
  }
  std::vector<bool> waiting(static_cast<std::size_t>(size_), false);
  waiting[static_cast<std::size_t>(rank_)] = true;
  const auto listen_for = [&](std::chrono::seconds time) {
    const Clock::time_point end = Clock::now() + time;
    while (Clock::now() < end) {
      take_in(waiting);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  listen_for(kAnswerTime);
  // The first one speaks; the others only if it has stopped meanwhile.
  const bool first = std::find(waiting.begin(), waiting.end(), true) - waiting.begin() == rank_;
  if (!first) listen_for(2 * kAnswerTime);
  policy_.say(verdict(waiting));
  abort_ranks(policy_.exit_code);
}

void RankWaits::take_in(std::vector<bool>& waiting) const {
  while (somebody_gave_up()) {
    MPI_Status status;
    MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, kGaveUpTag, MPI_COMM_WORLD, &status);
    waiting[static_cast<std::size_t>(status.MPI_SOURCE)] = true;
  }
}

std::string RankWaits::verdict(const std::vector<bool>& waiting) const {
  const std::string time = std::to_string(policy_.timeout.count()) + " s";
  std::string missing;
  for (std::size_t r = 0; r < waiting.size(); ++r) {
    if (waiting[r]) continue;
    missing += (missing.empty() ? "" : ", ") + ("rank " + std::to_string(r));
    if (r < hosts_.size()) missing += " on " + hosts_[r];
  }
  if (missing.empty()) {
    return "the ranks have waited " + time + ", and all answer: one came late, or the network " +
           "fails; give them more time: " + longer_timeout(policy_);
  }
  return "the other ranks have waited " + time + " for " + missing +
         ", without an answer: it hangs, or needs more time: " + longer_timeout(policy_);
}

CallWatch::CallWatch(const HangPolicy& policy, const std::string& what) {
  if (policy.timeout.count() == 0) return;
  thread_ = std::jthread([policy, what](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ended;
    ended.wait_for(lock, stop, policy.timeout, [] { return false; });
    if (stop.stop_requested()) return;
    policy.say("the ranks have waited " + std::to_string(policy.timeout.count()) +
               " s for all of them to " + what +
               ": one hangs, or they need more time: " + longer_timeout(policy));
    // MPI is in use by the thread that waits. Whoever started the ranks ends the others.
    std::_Exit(policy.exit_code);
  });
}

void abort_ranks(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace neuroshard::ranks
