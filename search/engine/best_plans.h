#pragma once

#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"

namespace neuroshard {

/// The cheapest plan of a task among those that are put together of plans for its parts, and the
/// alternatives that were asked for. Tells whoever wants to know of each better one.
class BestPlans {
 public:
  /// Borrows all but numbers. `started_ms`: how long the search had taken before. `stage`: of what
  /// comes.
  BestPlans(const Backend& backend, const Task& task, const PlanRequest& request, SearchStage stage,
            double started_ms)
      : backend_(backend), task_(task), request_(request), stage_(stage), started_ms_(started_ms) {}

  /// Plans that come after this are found by `stage`.
  void begin(SearchStage stage) { stage_ = stage; }
  /// Prices `plan`, which is valid. True if it fits, costs less than `most_ms`, and is the cheapest
  /// so far.
  bool consider(Plan plan, double most_ms = std::numeric_limits<double>::infinity());
  /// Considers a plan whose price is known.
  bool consider(Plan plan, PlanCost cost, double most_ms = std::numeric_limits<double>::infinity());
  /// Takes over a plan that has been told of, with what was found beside it.
  void start_from(PlanResult result);

  [[nodiscard]] bool empty() const { return !best_.plan; }
  [[nodiscard]] const PlanResult& best() const { return best_; }
  /// Ends its use.
  [[nodiscard]] PlanResult take() { return std::move(best_); }
  [[nodiscard]] double elapsed_ms() const;

 private:
  void keep_alternative(CostedPlan plan);

  using Clock = std::chrono::steady_clock;
  const Backend& backend_;
  const Task& task_;
  const PlanRequest& request_;
  SearchStage stage_;
  double started_ms_;
  Clock::time_point start_ = Clock::now();
  PlanResult best_;
};

/// Adds the work of another search to `all`, with its warning.
void add_work(SearchStats& all, const SearchStats& more);

}  // namespace neuroshard
