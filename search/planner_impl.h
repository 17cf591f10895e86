#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/thread_team.h"
#include "core/placement/fallback_backend.h"
#include "core/plans/in_node_traffic.h"
#include "core/policies/policy_run.h"
#include "core/tables/table_rules.h"
#include "neuroshard/planner.h"
#include "neuroshard/prediction_limits.h"
#include "neuroshard/replan.h"
#include "neuroshard/training_ranges.h"
#include "search/canonical_task.h"
#include "search/infeasibility/sharding_means.h"
#include "search/search_driver.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// Both, or the one that is not empty.
[[nodiscard]] inline std::string joined_warnings(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "; " + other;
}

/// With one of `parts` of the time to its deadline.
[[nodiscard]] PlanRequest with_part_of_the_time(PlanRequest request, int parts);
[[nodiscard]] inline PlanRequest with_half_the_time(PlanRequest request) {
  return with_part_of_the_time(std::move(request), 2);
}

/// Throws Error unless the request is one that plan() or replan() takes.
void validate(const PlanRequest& request);
void validate(const ReplanRequest& request);

struct Planner::Impl {
  /// `made_by`: a part for another setting is made for this one; null: this is the planner's own.
  Impl(CostModels cost_models, PlannerOptions planner_options, const Impl* made_by = nullptr);

  /// The planner's part that plans tasks of the setting of `task`; asked of the planner's own.
  /// Throws Error if its models do not know it.
  std::shared_ptr<const Impl> for_setting_of(const Task& task) const;
  /// Throws Error besides unless `task` is valid and the models know its device count.
  std::shared_ptr<const Impl> for_task(const Task& task) const;
  using Published = std::function<PlanResult()>;
  /// As Planner::plan() does, but for warnings and the reason why there is none. `alone`: on the
  /// caller's thread. `published`: by the published search, if searches_published(); empty: that
  /// search is run here.
  PlanResult plan_anew(const Task& task, const PlanRequest& request, Effort effort, bool alone,
                       const Published& published = {}) const;
  /// The plan of a task with host memory that needs none: as if there were none. Nothing if HBM has
  /// no room for all tables, or no plan is found.
  [[nodiscard]] std::optional<PlanResult> plan_in_hbm(const Task& task, const PlanRequest& request,
                                                      Effort effort, bool alone) const;
  PlanResult plan_by_baseline(const Task& task, const PlanRequest& request) const;
  /// By the policy; packed by memory alone where that leaves a table without room, or at `stop`.
  [[nodiscard]] std::optional<Plan> place_learned(const Task& task,
                                                  const StopCondition& stop) const;
  /// Algorithm::kPublished. `lease`: threads for it; null: the caller's alone.
  PlanResult plan_published(const Task& task, const PlanRequest& request,
                            ThreadTeam::Lease* lease) const;
  /// Why no way of sharding that rules leave a table is one that this planner has.
  [[nodiscard]] std::optional<PlanResult> out_of_reach(const Task& task) const;
  [[nodiscard]] ShardingMeans means_of(const Task& task) const;
  /// No plan needs less memory than this task does: tables that are deduplicated, or have hot rows,
  /// may have smaller buffers than theirs.
  [[nodiscard]] static Task with_least_buffers(Task task);
  /// Says why there is no plan as far as that is proven before the request's end.
  void settle_reason(const Task& planned, const PlanRequest& request, PlanResult& result) const;
  /// The published search as such knows of no request.
  [[nodiscard]] PlanRequest request_of_algorithm(const PlanRequest& given) const {
    return options.algorithm == Algorithm::kPublished ? PlanRequest{} : given;
  }
  /// Whether the published search is run for a task, perhaps as a start that is to be beaten: its
  /// slices are of columns, and have widths of their own. Where tables and devices are many it
  /// would take longer than all else.
  [[nodiscard]] bool searches_published(const Task& task, Effort effort) const {
    constexpr std::size_t kMostTablesTimesDevices = 1'000'000;
    const bool is_start =
        options.algorithm == Algorithm::kNeuroshard && effort != Effort::kFast &&
        !options.equal_widths &&
        task.tables.size() * static_cast<std::size_t>(task.devices) <= kMostTablesTimesDevices;
    const auto in_columns = [&](const Table& table) { return may_be_in_columns(task, table); };
    return (is_start || options.algorithm == Algorithm::kPublished) &&
           std::ranges::all_of(task.tables, in_columns);
  }
  /// The task of the published search where it is a start. Its plans depend on the order of tables,
  /// and those of the algorithm neuroshard do not. Nothing: the task as it is.
  [[nodiscard]] std::optional<BundledTask> task_of_start(const Task& planned) const {
    if (options.algorithm != Algorithm::kNeuroshard || !planned.groups.empty()) return std::nullopt;
    return canonical_task(planned);
  }
  /// A Portfolio is given these beside the task.
  struct Starts {
    /// By plan_of_plainer_task(), plan_in_hbm() and plan_apart_in_columns().
    std::vector<const Plan*> plainer{};
    Published published{};  ///< By that search; empty: not to be beaten.
  };
  /// Algorithm::kNeuroshard.
  PlanResult plan_by_portfolio(const Task& task, const PlanRequest& request, const Starts& starts,
                               Effort effort, ThreadTeam::Lease* lease) const;
  /// Plans `task` with tables that groups keep apart in columns alone, within half of the time that
  /// there is: row blocks of some leave others fewer devices, and no plan is to be dearer for that.
  /// Nothing if none of them may be in row blocks.
  [[nodiscard]] std::optional<PlanResult> plan_apart_in_columns(const Task& task,
                                                                const PlanRequest& request,
                                                                const Starts& starts, Effort effort,
                                                                ThreadTeam::Lease* lease) const;
  /// Plans `task` without levels of its links, if it has some, else without its links and without
  /// tables that plans deduplicate, within half of the time that there is. Such plans are plans of
  /// `task`, too, than which none of this is to be dearer. Nothing if it has neither, or another
  /// algorithm plans it.
  [[nodiscard]] std::optional<PlanOutcome> plan_of_plainer_task(const Task& task,
                                                                const PlanRequest& request,
                                                                Effort effort, bool alone) const;
  /// Puts a cheaper plan with hot rows in the place of the plan in `result`, if `task` says
  /// hot_rows; or FlexShard's tiers.
  void add_hot_rows(const Task& task, const PlanRequest& request, bool alone,
                    PlanResult& result) const;
  /// A plan of `task` with these hot rows, within half of the time that there is.
  [[nodiscard]] PlanResult plan_with(const std::vector<HotRows>& hot_rows, const Task& task,
                                     const PlanRequest& request, Effort effort, bool alone) const;
  /// As add_hot_rows(), by this effort. `task` says hot_rows, and there is a plan.
  void choose_hot_rows(const Task& task, const PlanRequest& request, Effort effort, bool alone,
                       PlanResult& result) const;
  /// Whether plans have hot rows where tasks say so.
  [[nodiscard]] bool may_choose_hot_rows() const {
    return options.algorithm == Algorithm::kNeuroshard && ways.replicas && !options.equal_widths;
  }
  /// Whether they have rows that each node holds once.
  [[nodiscard]] bool may_choose_node_rows(const Task& task) const {
    return task.exchange.hot_rows_by_node && fills_nodes_of(cpu->network(), task);
  }
  /// As Planner::replan() does, with these hot rows, but for warnings and the reason why there is
  /// no plan.
  [[nodiscard]] ReplanResult replan_with(const std::vector<HotRows>& hot_rows, const Task& stated,
                                         const RunningPlan& running, const PlanCost& running_cost,
                                         const ReplanRequest& request) const;
  /// Puts a cheaper plan with other hot rows in the place of the plan in `result`, if `task` says
  /// hot_rows and moves leave room for them.
  void change_hot_rows(const Task& task, const RunningPlan& running, const ReplanRequest& request,
                       ReplanResult& result) const;
  /// An error of `plainer`, of that of `task`, is a warning of `result`.
  static void add_work_of_plainer_task(const Task& task, const PlanOutcome& plainer,
                                       PlanResult& result);
  /// Many tasks, in common launches on a GPU.
  void plan_published(std::span<const SearchDriver::Job> jobs, const PlanRequest& request) const;
  /// For the searches of one call on one thread, or with `cpu` and so many threads: others try the
  /// GPU anew if it fails these. `launches`: FallbackBackend's.
  FallbackBackend gpu_beside(const Backend& of_cpu, std::size_t cpu_threads = 1,
                             PlanLaunches* launches = nullptr) const {
    return {*gpu, of_cpu, options.backend == "auto", cpu_threads, launches};
  }
  ThreadTeam& team() const;
  /// Adds what the models were not trained on, or do not look at, to the warning of `cost`.
  void add_warning(const Task& task, const Plan& plan, PlanCost& cost) const {
    if (const auto doubt = models.metadata.find("warning"); doubt != models.metadata.end()) {
      cost.warning = joined_warnings(cost.warning, doubt->second);
    }
    cost.warning = joined_warnings(cost.warning, ranges.warning(task, plan, cost));
    cost.warning =
        joined_warnings(cost.warning, prediction_limits(task, cpu->follows_weight_types()));
  }
  void add_warnings(const Task& task, PlanResult& result) const {
    if (result.plan) add_warning(task, *result.plan, result.cost);
    for (CostedPlan& other : result.alternatives) add_warning(task, other.plan, other.cost);
  }

  const Impl& own;  ///< The planner's: this one, or what made it.
  PlannerOptions options;
  std::unique_ptr<Backend> cpu;
  std::string no_gpu_warning;  ///< Before `gpu`, whose making writes it.
  std::unique_ptr<Backend> gpu;
  TrainingRanges ranges;               ///< Before `models`, which is moved from.
  WayOptions ways;                     ///< That a plan may have.
  std::optional<PackedPolicy> policy;  ///< If the algorithm is_learned().
  CostModels models;
  int threads;
  mutable std::mutex other_settings_lock;
  /// Made when asked for. It holds as many settings as a scheduler might plan for in turn.
  mutable std::map<CommSetting, std::shared_ptr<const Impl>> other_settings;
  mutable std::once_flag team_started;
  mutable std::optional<ThreadTeam> team_of_plans;  ///< For single plans; the first one starts it.
};

/// Implementation of a planner; throws Error if the planner has been moved from.
template <typename Impl>
const Impl& in_use(const std::unique_ptr<Impl>& impl) {
  if (!impl) throw Error("the planner has been moved from; use the one that it was moved to");
  return *impl;
}

}  // namespace neuroshard
