#include "core/session_pool.h"

#include <utility>

namespace neuroshard {

class SessionPool::Lent final : public PlacementSession {
 public:
  Lent(SessionPool& pool, Shelf& shelf, std::unique_ptr<ReuseSession> session)
      : pool_(pool), shelf_(shelf), session_(std::move(session)) {}

  ~Lent() override {
    const std::scoped_lock lock(pool_.mutex_);
    if (intact_) shelf_.idle.push_back(std::move(session_));  // Room was made when it was taken.
    --shelf_.lent;
  }

  void evaluate(const CandidateBatch& candidates, std::span<CandidateResult> results) override {
    intact_ = false;
    session_->evaluate(candidates, results);
    intact_ = true;
  }
  [[nodiscard]] EvaluationCounters counters() const override { return session_->counters(); }

 private:
  SessionPool& pool_;
  Shelf& shelf_;
  std::unique_ptr<ReuseSession> session_;
  bool intact_ = true;
};

std::unique_ptr<PlacementSession> SessionPool::take(const PlacementProblem& problem) {
  std::unique_ptr<ReuseSession> session;
  Shelf* shelf = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    shelf = &shelves_[problem.devices];
    shelf->idle.reserve(shelf->idle.size() + shelf->lent + 1);
    if (!shelf->idle.empty()) {
      session = std::move(shelf->idle.back());
      shelf->idle.pop_back();
    }
    ++shelf->lent;
  }
  try {
    if (session) {
      session->reset(problem);
    } else {
      session = std::make_unique<ReuseSession>(kernels_, models_, problem);
    }
    return std::make_unique<Lent>(*this, *shelf, std::move(session));
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    --shelf->lent;
    throw;
  }
}

}  // namespace neuroshard
