#pragma once

#include <chrono>

#include "neuroshard/backend.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"

namespace neuroshard {

/// The cheapest plan of a task, and the alternatives that were asked for. Tells whoever wants to
/// know of each better one.
class BestPlans {
 public:
  /// Borrows all.
  BestPlans(const Backend& backend, const Task& task, const PlanRequest& request)
      : backend_(backend), task_(task), request_(request) {}
  /// Goes on from a result of the same request that has a plan.
  BestPlans(const Backend& backend, const Task& task, const PlanRequest& request, PlanResult known);

  /// Plans that come after this are found by `stage`.
  void begin(SearchStage stage) { stage_ = stage; }
  /// Prices `plan`, which is valid, and keeps it if it fits.
  void consider(Plan plan);
  /// Considers a plan that heeds less of the task. If it is the best, only those replace it that
  /// are cheaper by what cost models can tell apart.
  void consider_plainer(const Plan& plan);

  [[nodiscard]] bool empty() const { return !best_.plan; }
  [[nodiscard]] const PlanResult& best() const { return best_; }
  /// Ends its use. `stats`: of all work, but for the time, which is that since it was made.
  [[nodiscard]] PlanResult take(SearchStats stats, bool complete);
  [[nodiscard]] double elapsed_ms() const;
  /// Plans are compared by their slowest devices and the price of what they store.
  [[nodiscard]] double charge_ms(const Plan& plan) const;

 private:
  void keep_alternative(CostedPlan plan);
  [[nodiscard]] double compared_ms(const Plan& plan, const PlanCost& cost) const {
    return cost.slowest_ms() + charge_ms(plan);
  }

  using Clock = std::chrono::steady_clock;
  const Backend& backend_;
  const Task& task_;
  const PlanRequest& request_;
  SearchStage stage_ = SearchStage::kUniform;
  Clock::time_point start_ = Clock::now();
  PlanResult best_;
  double best_ms_ = 0.0;          ///< compared_ms() of the best.
  bool best_is_plainer_ = false;  ///< It is from consider_plainer().
};

/// Adds the work of another search to `all`, with its warning.
void add_work(SearchStats& all, const SearchStats& more);

}  // namespace neuroshard
