#include "search/parts/replica_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "search/infeasibility.h"
#include "search/parts/required_blocks.h"

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

constexpr double kAnyCost = std::numeric_limits<double>::infinity();

}  // namespace

ReplicaSearch::ReplicaSearch(const Backend& backend, const Task& task, const PlanRequest& request,
                             Effort effort)
    : backend_(backend),
      task_(task),
      effort_(effort),
      stop_(request.deadline, request.stop),
      found_(backend, task, request, SearchStage::kReplicas, 0.0),
      required_(tables_to_replicate(task)) {
  stats_.backend = backend.name();
  if (ask_for_rest(0, task.devices < 2 ? effort : Effort::kFast)) return;
  if (found_.empty()) start_from({});
  end();
}

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
      consider_parts(planned, most_ms_);
      return try_more();
    case Phase::kBest:
      consider_parts(planned, most_ms_);
      return plan_whole_again();
    case Phase::kWholeAgain:
      if (found_.empty()) {
        start_from(std::move(planned));
      } else {
        consider_parts(planned, kAnyCost);
      }
      return end();
    case Phase::kFinished:
      return;
  }
}

void ReplicaSearch::after_whole(PlanResult planned) {
  const bool found = planned.plan.has_value();
  whole_ms_ = kAnyCost;
  const bool all = next_->effort == effort_;
  const bool stopped = stop_.reached();
  if (found || all || stopped) start_from(std::move(planned));
  if (!found_.empty()) {
    whole_ms_ = found_.best().cost.cost_ms;
    candidates_ = replica_candidates(backend_, task_, found_.best().cost);
    std::erase_if(candidates_, [&](const ReplicaCandidate& one) {
      return std::ranges::binary_search(required_, one.table);
    });
  }
  most_ms_ = (1.0 - kLeastSaving) * whole_ms_;
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
  (void)ask_for_rest(0, effort_);
}

void ReplicaSearch::end() {
  phase_ = Phase::kFinished;
  next_.reset();
}

bool ReplicaSearch::ask_for_rest(std::size_t count, Effort effort) {
  std::vector<std::uint32_t> replicated = required_;
  for (std::size_t i = 0; i < count; ++i) replicated.push_back(candidates_[i].table);
  std::ranges::sort(replicated);
  replicas_ = {};
  replicas_.shards.resize(static_cast<std::size_t>(task_.devices));
  replicas_.replicas.assign(replicated.begin(), replicated.end());
  count_ = count;
  if (replicated.empty()) {
    next_ = Part{.task = &task_, .effort = effort, .whole = true};
    return true;
  }
  if (replicated.size() == task_.tables.size()) {
    if (found_.consider(replicas_, most_ms_)) best_count_ = count;
    return false;
  }
  const std::int64_t bytes = replicas_memory(task_, replicas_).total_bytes();
  if (bytes >= std::ranges::min(rooms_bytes(task_))) return false;
  rest_ = task_without(task_, replicated, bytes);
  next_ = Part{.task = &rest_.task, .effort = effort, .whole = false};
  return true;
}

void ReplicaSearch::consider_parts(const PlanResult& planned, double most_ms) {
  const auto consider = [&](const Plan& of_rest) {
    Plan plan = replicas_;
    if (replicas_.replicas.empty()) {
      plan = of_rest;
    } else {
      add_part(plan, rest_, of_rest);
    }
    if (found_.consider(std::move(plan), most_ms)) best_count_ = count_;
  };
  if (planned.plan) consider(*planned.plan);
  for (const CostedPlan& other : planned.alternatives) consider(other.plan);
}

void ReplicaSearch::start_from(PlanResult planned) {
  if (required_.empty()) return found_.start_from(std::move(planned));
  if (planned.plan) return consider_parts(planned, kAnyCost);
  planned.cost.cost_ms = kAnyCost;
  if (stop_.reached()) {
    planned.infeasible = nothing_in_time(task_);
  } else {
    const std::int64_t bytes = replicas_memory(task_, replicas_).total_bytes();
    const bool fit = bytes <= std::ranges::min(rooms_bytes(task_));
    planned.infeasible =
        no_room_beside(task_, required_, "replicated", fit ? std::optional(bytes) : std::nullopt);
  }
  found_.start_from(std::move(planned));
}

PlanResult ReplicaSearch::finish() {
  PlanResult result = found_.take();
  result.stats = std::move(stats_);
  result.complete = complete_ && !(next_ || stop_.reached());
  return result;
}

}  // namespace neuroshard
