#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "neuroshard/cost_models.h"
#include "neuroshard/device_groups.h"
#include "neuroshard/explanation.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_outcome.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/replan.h"
#include "neuroshard/search_options.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Finds plans of lowest predicted cost. Immutable once built: share one between threads. If memory
/// runs out, std::bad_alloc leaves the planner as it was. One that was moved from throws Error
/// whatever it is asked. After fork() the child may go on with a planner that nobody was using at
/// that moment, on one thread and not on a GPU. Static objects may plan until the process ends.
class Planner {
 public:
  /// Throws Error on invalid models or options, or if a forced backend cannot run here.
  explicit Planner(CostModels models, PlannerOptions options = {});
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// Throws Error if the task is invalid or the models lack its device count. A task that cannot
  /// fit is a result, not an exception. Touches no file, prints nothing.
  [[nodiscard]] PlanResult plan(const Task& task, const PlanRequest& request = {}) const;

  /// Plans many tasks at once; the outcomes are those of plan(), in order. An Error that plan()
  /// would throw is the outcome of its task alone, or of several if a forced GPU fails them
  /// together. Throws Error if the request is invalid. A deadline is that of all tasks together;
  /// calls of `on_improvement` come from several threads.
  [[nodiscard]] std::vector<PlanOutcome> plan_batch(std::span<const Task> tasks,
                                                    const PlanRequest& request = {}) const;

  /// Makes plans for the devices of `task` in groups of each size and layout that is asked for
  /// (device_groups.h), as plan() makes them for a group. Plans of a group are compared by what an
  /// iteration costs with its part of the averaging. Throws Error as plan() does, if the request
  /// contradicts the task or itself, or if the models do not say which network they are of and the
  /// task does not, either.
  [[nodiscard]] GroupsResult plan_groups(const Task& task, const GroupsRequest& request) const;

  /// Plans for what has become of a running job: another task, other devices, or both. The plan is
  /// near to `running`, so that little has to be moved. Algorithm::kNeuroshard's efforts count; the
  /// others do not re-plan. Throws Error as plan() does, if the running plan is invalid or its lost
  /// devices and the task's contradict each other, and if budget or price are negative. Throws
  /// Error if all plans found move more than the budget: the message says what is enough for one.
  [[nodiscard]] ReplanResult replan(const Task& task, const RunningPlan& running,
                                    const ReplanRequest& request = {}) const;

  /// Predicted cost of any plan for `task`. Throws Error as neuroshard::simulate() does
  /// (simulator.h), but for batches that the models know, whichever the task's is. A plan that
  /// exceeds memory has a cost all the same, and says so.
  [[nodiscard]] PlanCost simulate(const Task& task, const Plan& plan) const;

  /// Explains the cost of `plan`, and that of each of its slices (explanation.h). Throws Error as
  /// simulate() does.
  [[nodiscard]] PlanExplanation explain(const Task& task, const Plan& plan) const;

  /// A number that stands for `task`, the planner's options and its models (fingerprint.h). Throws
  /// Error as plan() does.
  [[nodiscard]] std::uint64_t fingerprint(const Task& task) const;

  /// The backend in use: one of backends().
  [[nodiscard]] std::string_view backend() const;

 private:
  struct __attribute__((visibility("hidden"))) Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace neuroshard
#pragma GCC visibility pop
