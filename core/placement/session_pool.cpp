#include "core/placement/session_pool.h"

#include <algorithm>
#include <utility>

namespace neuroshard {

class SessionPool::Lent final : public PlacementSession {
 public:
  /// `entry`: a list of one session.
  Lent(SessionPool& pool, Entries entry) : pool_(pool), entry_(std::move(entry)) {}

  ~Lent() override {
    if (intact_) pool_.give_back(std::move(entry_));
  }

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override {
    intact_ = false;
    session().place(candidates, results);
    intact_ = true;
  }
  std::optional<std::vector<std::uint32_t>> assignments(std::span<const std::uint32_t> pieces,
                                                        int limit) override {
    intact_ = false;
    auto devices = session().assignments(pieces, limit);
    intact_ = true;
    return devices;
  }
  [[nodiscard]] PlacementCounters counters() const override { return session().counters(); }

 private:
  [[nodiscard]] ReuseSession& session() const { return *entry_.front().session; }

  SessionPool& pool_;
  Entries entry_;
  bool intact_ = true;
};

SessionPool::Entries SessionPool::take_idle(int devices) {
  Entries taken;
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Entry& entry) {
    return entry.session->devices() == devices;
  });
  if (found == idle_.rend()) return taken;
  idle_bytes_ -= found->bytes;
  taken.splice(taken.end(), idle_, std::prev(found.base()));
  return taken;
}

void SessionPool::give_back(Entries entry) noexcept {
  Entries dropped;  // Destroyed after the lock is released: that takes time.
  const std::scoped_lock lock(mutex_);
  entry.front().bytes = entry.front().session->held_bytes();
  idle_bytes_ += entry.front().bytes;
  idle_.splice(idle_.end(), entry);
  while (idle_bytes_ > most_idle_bytes_) {
    idle_bytes_ -= idle_.front().bytes;
    dropped.splice(dropped.end(), idle_, idle_.begin());
  }
}

std::unique_ptr<PlacementSession> SessionPool::take(const PlacementProblem& problem) {
  Entries entry = take_idle(problem.devices);
  if (entry.empty()) {
    entry.push_back({std::make_unique<ReuseSession>(kernels_, models_, problem)});
  } else {
    entry.front().session->reset(problem);
  }
  return std::make_unique<Lent>(*this, std::move(entry));
}

std::size_t SessionPool::idle_bytes() const {
  const std::scoped_lock lock(mutex_);
  return idle_bytes_;
}

}  // namespace neuroshard
