#pragma once

#include <functional>

#include "core/base/thread_team.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// Improves a plan by chains that all begin with it. What they find does not depend on who runs
/// them, and more effort begins with what less effort does.
struct Portfolio {
  const Backend& backend;  ///< A CPU's.
  const Task& task;        ///< Valid, with the rules that its groups imply.
  WayOptions ways;
  Effort effort = Effort::kDefault;
  const StopCondition& stop;
  ThreadTeam::Lease* team = nullptr;  ///< Threads for the chains; null: the caller's alone.

  /// Gives each plan that seems to be the cheapest so far to `consider`. The work goes to `stats`.
  void improve(const Plan& plan, const std::function<void(Plan)>& consider,
               SearchStats& stats) const;
};

}  // namespace neuroshard
