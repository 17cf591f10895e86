#include "search/parts/replica_search.h"

#include <algorithm>
#include <array>
#include <utility>

namespace neuroshard {
namespace {

// Tables are replicated if their gain is above one of these, the likeliest first; then numbers of
// tables between the best and its neighbours are tried.
constexpr std::array kLeastGains = {1.0, 2.0, 0.5};
constexpr std::size_t kTrialsOfFast = 1;
constexpr std::size_t kTrials = 5;

// Replicas have to save more than this share of the cost: about what predictions are wrong by.
constexpr double kLeastSaving = 0.005;

// With so much less cost than the whole task's plan it is in vain to plan that once more.
constexpr double kClearlyCheaper = 0.95;

}  // namespace

ReplicaSearch::ReplicaSearch(const Backend& backend, const Task& task, const PlanRequest& request,
                             Effort effort)
    : backend_(backend),
      task_(task),
      effort_(effort),
      stop_(request.deadline, request.stop),
      found_(backend, task, request, SearchStage::kReplicas, 0.0),
      next_(Part{
          .task = &task, .effort = task.devices < 2 ? effort : Effort::kFast, .whole = true}) {}

void ReplicaSearch::take(PlanResult planned) {
  add_work(stats_, planned.stats);
  stats_.search_ms += planned.stats.search_ms;
  stats_.backend = planned.stats.backend;
  if (!planned.stats.warning.empty()) stats_.warning = planned.stats.warning;
  complete_ &= planned.complete;
  switch (phase_) {
    case Phase::kWhole:
      return after_whole(std::move(planned));
    case Phase::kTrials:
      consider_parts(planned);
      return try_more();
    case Phase::kBest:
      consider_parts(planned);
      return plan_whole_again();
    case Phase::kWholeAgain:
      if (found_.empty()) {
        found_.start_from(std::move(planned));
      } else if (planned.plan) {
        (void)found_.consider(*std::move(planned.plan));
        for (CostedPlan& other : planned.alternatives) (void)found_.consider(std::move(other.plan));
      }
      return end();
    case Phase::kFinished:
      return;
  }
}

void ReplicaSearch::after_whole(PlanResult planned) {
  const bool found = planned.plan.has_value();
  whole_ms_ = planned.cost.cost_ms;
  most_ms_ = (1.0 - kLeastSaving) * whole_ms_;
  if (found) candidates_ = replica_candidates(backend_, task_, planned.cost);
  const bool all = next_->effort == effort_;
  const bool stopped = stop_.reached();
  if (found || all || stopped) found_.start_from(std::move(planned));
  if (stopped) return end();
  if (candidates_.empty()) return all ? end() : plan_whole_again();
  phase_ = Phase::kTrials;
  try_more();
}

std::size_t ReplicaSearch::count_above(double gain) const {
  return static_cast<std::size_t>(
      std::ranges::partition_point(candidates_,
                                   [&](const ReplicaCandidate& one) { return one.gain >= gain; }) -
      candidates_.begin());
}

std::optional<std::size_t> ReplicaSearch::next_count() const {
  for (const double gain : kLeastGains) {
    const std::size_t count = count_above(gain);
    if (count > 0 && !tried_.contains(count)) return count;
  }
  if (best_count_ == 0) return std::nullopt;
  // The wider gap beside the best.
  const auto at = tried_.find(best_count_);
  const std::size_t below = at == tried_.begin() ? 0 : *std::prev(at);
  const std::size_t above = std::next(at) == tried_.end() ? candidates_.size() : *std::next(at);
  if (std::max(best_count_ - below, above - best_count_) < 2) return std::nullopt;
  return best_count_ - below > above - best_count_ ? (best_count_ + below) / 2
                                                   : (best_count_ + above + 1) / 2;
}

void ReplicaSearch::try_more() {
  const std::size_t most = effort_ == Effort::kFast ? kTrialsOfFast : kTrials;
  while (trials_ < most && !stop_.reached()) {
    const std::optional<std::size_t> count = next_count();
    if (!count) break;
    ++trials_;
    tried_.insert(*count);
    if (ask_for_rest(*count, Effort::kFast)) return;
  }
  if (effort_ == Effort::kFast || stop_.reached()) return end();
  improve_best();
}

void ReplicaSearch::improve_best() {
  phase_ = Phase::kBest;
  if (best_count_ > 0 && ask_for_rest(best_count_, effort_)) return;
  plan_whole_again();
}

void ReplicaSearch::plan_whole_again() {
  if (stop_.reached() ||
      (!found_.empty() && found_.best().cost.cost_ms < kClearlyCheaper * whole_ms_)) {
    return end();
  }
  phase_ = Phase::kWholeAgain;
  next_ = Part{.task = &task_, .effort = effort_, .whole = true};
}

void ReplicaSearch::end() {
  phase_ = Phase::kFinished;
  next_.reset();
}

bool ReplicaSearch::ask_for_rest(std::size_t count, Effort effort) {
  std::vector<std::uint32_t> replicated;
  for (std::size_t i = 0; i < count; ++i) replicated.push_back(candidates_[i].table);
  std::ranges::sort(replicated);
  replicas_ = {};
  replicas_.shards.resize(static_cast<std::size_t>(task_.devices));
  replicas_.replicas.assign(replicated.begin(), replicated.end());
  if (count == task_.tables.size()) {
    if (found_.consider(replicas_, most_ms_)) best_count_ = count;
    return false;
  }
  const std::int64_t bytes = replicas_memory(task_, replicas_).total_bytes();
  if (bytes >= std::ranges::min(rooms_bytes(task_))) return false;
  count_ = count;
  rest_ = task_without(task_, replicated, bytes);
  next_ = Part{.task = &rest_.task, .effort = effort, .whole = false};
  return true;
}

void ReplicaSearch::consider_parts(const PlanResult& planned) {
  const auto consider = [&](const Plan& of_rest) {
    Plan plan = replicas_;
    add_part(plan, rest_, of_rest);
    if (found_.consider(std::move(plan), most_ms_)) best_count_ = count_;
  };
  if (planned.plan) consider(*planned.plan);
  for (const CostedPlan& other : planned.alternatives) consider(other.plan);
}

PlanResult ReplicaSearch::finish() {
  PlanResult result = found_.take();
  result.stats = std::move(stats_);
  result.complete = complete_ && !(next_ || stop_.reached());
  return result;
}

}  // namespace neuroshard
