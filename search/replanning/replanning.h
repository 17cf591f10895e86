#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/thread_team.h"
#include "neuroshard/backend.h"
#include "neuroshard/replan.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"

namespace neuroshard {

/// With neither budget nor price: what may be moved beyond what has to be, 1 / 5 of that.
inline constexpr std::int64_t kShareOnTop = 5;

/// No limit of the bytes that are moved.
inline constexpr std::int64_t kAnyBytes = std::numeric_limits<std::int64_t>::max();

/// A budget and what earlier ones left.
[[nodiscard]] inline std::int64_t with_unspent(std::int64_t budget, const ReplanRequest& request) {
  return budget + std::min(request.unspent_bytes.value_or(0), kAnyBytes - budget);
}

/// What a new plan for a running job is made with. Borrows all.
struct ReplanOrder {
  const Task& task;  ///< Valid.
  const RunningPlan& running;
  /// Of each table of `task`, as Residency has them.
  const std::vector<std::optional<std::size_t>>& running_tables;
  const ReplanRequest& request;  ///< Valid.
  /// What is moved of other tables. It counts where the request says no budget.
  std::int64_t moved_beside;
  Effort effort;
  const StopCondition& stop;
  ThreadTeam::Lease* team;  ///< Null: none.
  /// Plans the task as if nothing was running.
  std::function<PlanResult(Effort)> plan_anew;
};

/// A new plan, if there is one.
struct Replanned {
  ReplanResult result;
  /// The budget, of these tables, that it was made with.
  std::int64_t most_moved_bytes = kAnyBytes;
  /// What the start moves that moves least, for which that budget is enough; nothing: there is no
  /// start, or, with a budget that no plan can do with, none was made.
  std::optional<std::int64_t> least_start_bytes{};
};

/// Starts from plans that leave slices where they are and, where the budget may allow as much, from
/// a new plan whose devices are numbered so that much stays; improves them by annealing, moves
/// counted; and returns the plan with the lowest cost, or cost and price of moves. What less effort
/// does is the beginning of what more effort does, so that more never gives a dearer plan. Writes
/// all of the result but `running_cost`, `must_move_bytes` and the time; neither plan nor reason if
/// the budget is too small. Throws Error as Residency does.
[[nodiscard]] Replanned replan_task(const Backend& backend, const ReplanOrder& order);

}  // namespace neuroshard
