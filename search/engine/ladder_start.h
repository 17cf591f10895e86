#pragma once

#include <cstddef>
#include <optional>

#include "neuroshard/plan.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/stop_condition.h"
#include "search/bundled_task.h"
#include "search/engine/chain.h"
#include "search/engine/portfolio.h"

namespace neuroshard {

/// Cuts and places everything anew, as a WayLadder says. All efforts begin with it.
class LadderStart {
 public:
  /// Borrows `portfolio`.
  explicit LadderStart(const Portfolio& portfolio);

  /// Does what Effort::kFast does. Gives plans to `consider`, as Portfolio::improve() does.
  void begin(const Portfolio::Consider& consider);
  /// Does what more effort does besides, once.
  void go_on(const Portfolio::Consider& consider);
  /// The cheapest plan that settled from another rung than the cheapest of all did, if any.
  [[nodiscard]] std::optional<Plan> second() const;
  void add_work_to(SearchStats& stats) const;

 private:
  void run_until_it_fits();
  void report(const Portfolio::Consider& consider);

  const Portfolio& portfolio_;
  StopCondition stop_;
  BundledTask canonical_;
  std::optional<Chain> chain_;  ///< Nothing: there is no time, or nothing to place.
  bool has_gone_on_ = false;
  double reported_ms_;              ///< Cost of its best plan then,
  std::size_t reported_rungs_ = 0;  ///< and number of its rungs.
};

}  // namespace neuroshard
