#include "weights/collection/ranks/local_group.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "neuroshard/error.h"
#include "weights/collection/ranks/rank_cpus.h"

namespace neuroshard::ranks {
namespace {

// The ranks meet here. The others may read what a rank shows before a meeting until the next one.
// So nobody leaves a meeting, not even by an exception, before all have come or ended.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), shown_(static_cast<std::size_t>(size)) {}

  // Returns when all ranks have come; throws if one of them has failed, or has returned and will
  // never come.
  void wait() {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    ++here_;
    end_if_all_came();
    came_.wait(lock, [&] { return round_ != round; });
    if (failure_ != nullptr) throw Error("another rank has failed", ErrorKind::kBackend);
    if (missed_) throw Error("another rank has returned already", ErrorKind::kBackend);
  }

  void show(int rank, const void* what) { shown_[static_cast<std::size_t>(rank)] = what; }
  [[nodiscard]] const void* shown(int rank) const { return shown_[static_cast<std::size_t>(rank)]; }

  // So many ranks come no more. `failure` is null if their work is done.
  void leave(int ranks, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    ended_ += ranks;
    if (here_ > 0) end_if_all_came();
  }
  [[nodiscard]] std::exception_ptr failure() const { return failure_; }

 private:
  void end_if_all_came() {
    if (here_ + ended_ < size_) return;
    missed_ = ended_ > 0;
    here_ = 0;
    ++round_;
    came_.notify_all();
  }

  int size_;
  std::mutex mutex_;
  std::condition_variable came_;
  int here_ = 0;
  int ended_ = 0;
  bool missed_ = false;  // The last meeting was not of all.
  std::uint64_t round_ = 0;
  std::exception_ptr failure_;  // The first.
  std::vector<const void*> shown_;
};

class LocalGroup : public RankGroup {
 public:
  LocalGroup(Meeting& meeting, int rank, int size) : meeting_(meeting) {
    rank_ = rank;
    size_ = size;
    local_rank_ = rank;
  }

  void broadcast(std::span<std::byte> bytes) const override {
    share(bytes.data(), [&] {
      if (rank_ != 0) std::memcpy(bytes.data(), meeting_.shown(0), bytes.size());
    });
  }

  std::vector<double> gather(double value) const override {
    std::vector<double> all;
    share(&value, [&] {
      for (int r = 0; rank_ == 0 && r < size_; ++r) {
        all.push_back(*static_cast<const double*>(meeting_.shown(r)));
      }
    });
    return all;
  }

  bool any(bool value) const override {
    bool found = false;
    share(&value, [&] {
      for (int r = 0; r < size_; ++r) found |= *static_cast<const bool*>(meeting_.shown(r));
    });
    return found;
  }

  void all_to_all(const void* send, const PeerParts& sent, void* receive, const PeerParts& received,
                  std::size_t element_bytes) const override {
    const Outgoing mine{static_cast<const std::byte*>(send), &sent};
    auto* const to = static_cast<std::byte*>(receive);
    share(&mine, [&] {
      // Each begins with itself, so that not all read from the same one.
      for (int i = 0; i < size_; ++i) {
        const int peer = (rank_ + i) % size_;
        const auto p = static_cast<std::size_t>(peer);
        const auto& from = *static_cast<const Outgoing*>(meeting_.shown(peer));
        if (received.counts[p] == 0) continue;
        std::memcpy(to + static_cast<std::size_t>(received.first[p]) * element_bytes,
                    from.bytes + static_cast<std::size_t>(
                                     from.parts->first[static_cast<std::size_t>(rank_)]) *
                                     element_bytes,
                    static_cast<std::size_t>(received.counts[p]) * element_bytes);
      }
    });
  }

  // Each rank adds up a part of all ranks' values, where nobody else writes, then takes the
  // others'.
  void all_reduce(std::span<float> values) const override {
    const auto part = [&](int rank) {
      const std::size_t size = (values.size() + size_ - 1) / size_;
      const std::size_t first = std::min(values.size(), size * static_cast<std::size_t>(rank));
      return std::pair(first, std::min(size, values.size() - first));
    };
    const auto values_of = [&](int rank) {
      return static_cast<const float*>(meeting_.shown(rank));
    };
    share(values.data(), [&] {
      const auto [first, count] = part(rank_);
      for (int i = 1; i < size_; ++i) {
        const float* const others = values_of((rank_ + i) % size_);
        for (std::size_t k = first; k < first + count; ++k) values[k] += others[k];
      }
    });
    share(values.data(), [&] {
      for (int i = 1; i < size_; ++i) {
        const int peer = (rank_ + i) % size_;
        const auto [first, count] = part(peer);
        std::copy_n(values_of(peer) + first, count,
                    values.begin() + static_cast<std::ptrdiff_t>(first));
      }
    });
  }

  Clock::time_point common_start(std::chrono::nanoseconds ahead) const override {
    const Clock::time_point mine = Clock::now();
    Clock::time_point last = mine;
    share(&mine, [&] {
      for (int r = 0; r < size_; ++r) {
        last = std::max(last, *static_cast<const Clock::time_point*>(meeting_.shown(r)));
      }
    });
    return last + ahead;
  }

 private:
  struct Outgoing {
    const std::byte* bytes;
    const PeerParts* parts;
  };

  // Lets `read` read what all show: it stays as it is until all have read.
  template <typename Read>
  void share(const void* what, Read read) const {
    meeting_.show(rank_, what);
    meeting_.wait();
    read();
    meeting_.wait();
  }

  Meeting& meeting_;
};

}  // namespace

void run_local_ranks(int size, const std::function<void(RankGroup&)>& work) {
  Meeting meeting(size);
  const auto run = [&](int rank) {
    std::exception_ptr failure;
    try {
      const RankCpus cpus(rank, size);
      LocalGroup group(meeting, rank, size);
      work(group);
    } catch (...) {
      failure = std::current_exception();
    }
    meeting.leave(1, failure);
  };
  {
    std::vector<std::jthread> others;
    others.reserve(static_cast<std::size_t>(size));
    try {
      for (int rank = 1; rank < size; ++rank) others.emplace_back(run, rank);
    } catch (const std::system_error& error) {
      const Error shortage("the system has no threads for " + std::to_string(size) + " ranks (" +
                               error.what() + "); look at its limits (ulimit -u, ulimit -v)",
                           ErrorKind::kBackend);
      meeting.leave(size - 1 - static_cast<int>(others.size()), std::make_exception_ptr(shortage));
    }
    run(0);
  }
  if (meeting.failure() != nullptr) std::rethrow_exception(meeting.failure());
}

}  // namespace neuroshard::ranks
