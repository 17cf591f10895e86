// CutSearch where devices differ: a search for equal ones, and plans near to its own.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/tables/table_rules.h"
#include "neuroshard/simulator.h"
#include "search/baselines.h"
#include "search/parts/cut_search.h"
#include "search/parts/equalized_task.h"
#include "search/uniform_baseline.h"

namespace neuroshard {
namespace {

// A plan for equal devices that costs no more than this beside the best one is a start, too.
constexpr double kClose = 1.05;

// Here plans near to it may still gain as much.
constexpr double kCloseHere = 1.15;

}  // namespace

void CutSearch::try_equalized() {
  if (of_equalized_) return after_equalized();
  phase_ = Phase::kEqualized;
  equalized_ = equalized_task(task_);
  if (!equalized_) return after_equalized();
  Options options = options_;
  options.known = nullptr;
  of_equalized_ = std::make_unique<CutSearch>(backend_, *equalized_, quiet_request_, options);
  of_equalized_->keeps_parts_ = true;
  ask_for_equalized();
}

void CutSearch::price_equalized() {
  const BestPlans& found = of_equalized_->found_;
  if (found.empty()) return;
  const Plan& plan = *found.best().plan;
  PlanCost cost = simulate(backend_, task_, plan);
  if (!found_.consider(plan, std::move(cost))) return;
  best_ = of_equalized_->best_;
}

void CutSearch::ask_for_equalized() {
  if (of_equalized_->next() && !stop_.reached()) {
    next_ = of_equalized_->next();
    next_->whole = false;
    return;
  }
  price_equalized();
  if (std::exchange(starts_listed_, true)) return after_equalized();
  list_starts();
  plan_near_equalized();
}

// Where equal devices need row blocks for want of memory, others may have better plans.
void CutSearch::list_starts() {
  std::optional<PlannedPart>& whole = of_equalized_->whole_part_;
  std::optional<PlannedPart>& best = of_equalized_->best_part_;
  if (!whole || !whole->by_columns) return;
  whole_planned_ = true;
  const auto is_close_here = [&] {
    return whole->tables.empty() && required_.empty() &&
           simulate(backend_, task_, whole->plan).cost_ms <=
               kCloseHere * found_.best().cost.cost_ms;
  };
  const bool worth_it = whole->cost_ms <= kClose * best->cost_ms || is_close_here();
  if (best->choice != CutChoice{}) starts_.push_back(*std::move(best));
  if (worth_it || starts_.empty()) starts_.push_back(*std::move(whole));
}

void CutSearch::plan_near_equalized() {
  phase_ = Phase::kNearEqualized;
  while (!starts_.empty() && !stop_.reached()) {
    start_ = std::move(starts_.back());
    starts_.pop_back();
    if (!ask_for_rest(start_.choice)) continue;
    const bool same =
        next_->whole ? start_.tables.empty()
                     : start_.tables == rest_.tables && start_.first_columns == rest_.first_columns;
    if (same && start_.by_columns) next_->start = &start_.plan;
    return;
  }
  after_equalized();
}

void CutSearch::after_equalized() {
  if (!whole_planned_) return begin();
  if (stop_.reached()) return end();
  // Equal devices may all be as slow as one that is best left alone.
  if (!std::exchange(heuristics_tried_, true) && heuristic_is_cheaper()) return plan_whole_again();
  if (options_.columns_only) return end();
  if (found_.empty() && !choices_.started()) return begin_trials();
  end();
}

bool CutSearch::heuristic_is_cheaper() {
  const auto in_columns = [&](const Table& table) { return may_be_in_columns(task_, table); };
  if (!std::ranges::all_of(task_.tables, in_columns)) return false;
  trial_ = {};
  bool cheaper = false;
  const auto consider_one = [&](std::optional<Plan> plan) {
    if (plan) cheaper |= consider(*std::move(plan), kAnyCost);
  };
  consider_one(cheapest_uniform_plan(backend_, task_, stop_));
  for (const Algorithm baseline : kGreedyBaselines) {
    consider_one(place_by_baseline(task_, baseline, 0, stop_));
  }
  return cheaper;
}

}  // namespace neuroshard
