#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "core/tables/table_rules.h"
#include "neuroshard/planner.h"
#include "neuroshard/prediction_limits.h"
#include "neuroshard/training_ranges.h"
#include "search/infeasibility/sharding_means.h"
#include "search/parts/cut_search.h"
#include "search/parts/equalized_task.h"
#include "search/parts/required_blocks.h"
#include "search/parts/row_blocks.h"
#include "search/replanning/kind_search.h"
#include "search/search_driver.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// Both, or the one that is not empty.
[[nodiscard]] inline std::string joined_warnings(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "; " + other;
}

/// Throws Error unless the request is one that plan() takes.
void validate(const PlanRequest& request);

/// Whether a SearchDriver runs it.
[[nodiscard]] bool searches(Algorithm algorithm);

/// For parts of a task, whose plans are none of the task.
[[nodiscard]] PlanRequest without_improvements(PlanRequest request);

/// One search, to its end.
[[nodiscard]] PlanResult run_search(SearchDriver& driver, const Task& task,
                                    const Plan* start = nullptr);

struct Planner::Impl {
  Impl(CostModels cost_models, PlannerOptions planner_options);

  /// What plans tasks of this setting, of the planner's own. Throws Error if its models do not know
  /// it.
  std::shared_ptr<const Impl> for_setting(const CommSetting& setting) const;
  /// Throws Error besides unless `task` is valid and the models know its device count.
  std::shared_ptr<const Impl> for_task(const Task& task) const;
  PlanResult plan_by_baseline(const Task& task) const;
  /// `with`: an algorithm that searches. `launches`: of the whole plan. `start`: as of
  /// SearchDriver's jobs.
  PlanResult plan_by_search(const Task& task, const PlanRequest& request,
                            const PlannerOptions& with, PlanLaunches& launches,
                            const Plan* start = nullptr) const;
  /// By one thread of the CPU.
  PlanResult plan_alone(const Task& task, const PlanRequest& request) const;
  /// Gives tasks that columns alone have no room for plans with row blocks. `plan`:
  /// plan_by_search() or plan_alone().
  template <typename Plan>
  PlanResult with_row_blocks(const Task& task, const PlanRequest& request, PlanResult result,
                             const Plan& plan) const;
  /// Tables that must be cut by rows are, and the others as by with_row_blocks(). `plan` likewise.
  template <typename Plan>
  PlanResult with_required_blocks(const Task& task, const PlanRequest& request,
                                  const Plan& plan) const;
  /// Why no way of sharding that rules leave a table is one that this planner has.
  [[nodiscard]] std::optional<PlanResult> out_of_reach(const Task& task) const;
  [[nodiscard]] ShardingMeans means_of(const Task& task) const;
  /// Says why there is no plan as far as that is proven before the request's end.
  void settle_reason(const Task& task, const PlanRequest& request, PlanResult& result) const;
  /// By plan_by_search(), with row blocks if need be.
  PlanResult plan_part(const Task& task, const PlanRequest& request, PlanLaunches& launches,
                       const Plan* start) const;
  /// The same for many tasks.
  void plan_part(std::span<const SearchDriver::Job> jobs, const PlanRequest& request) const;
  /// Whether CutSearch plans `task`: to try other cuts, or equal devices.
  [[nodiscard]] bool needs_cut_search(const Task& task) const {
    return replicas || (options.algorithm == Algorithm::kNeuroshard && equalized_task(task));
  }
  [[nodiscard]] CutSearch::Options cut_search_options(const Plan* known) const {
    return {.equal_widths = options.equal_widths, .columns_only = !replicas, .known = known};
  }
  /// The published search as such knows of no request.
  [[nodiscard]] PlanRequest request_of_algorithm(const PlanRequest& given) const {
    return options.algorithm == Algorithm::kPublished ? PlanRequest{} : given;
  }
  /// Whether plans that are made quickly are starts for a Portfolio.
  [[nodiscard]] static bool improves(const PlannerOptions& with) {
    return with.algorithm == Algorithm::kNeuroshard && with.effort != Effort::kFast;
  }
  /// Ways that a plan may be improved in. Where no others are, columns are halved.
  [[nodiscard]] WayOptions ways() const {
    return {.rows = replicas,
            .replicas = replicas,
            .equal_widths = options.equal_widths,
            .halves = !any_cuts};
  }
  /// Whether the published search's plan is to be beaten, too: its slices are of columns, and have
  /// widths of their own.
  [[nodiscard]] bool starts_from_published(const Task& task) const {
    return !options.equal_widths && std::ranges::all_of(task.tables, [&](const Table& table) {
      return may_be_in_columns(task, table);
    });
  }
  /// Improves `start`, a plan that was made quickly, if it is one, by a Portfolio. `published`: by
  /// that search, or null.
  PlanResult improved(const Task& task, const PlanRequest& request, PlanResult start,
                      const PlanResult* published, Effort effort, const WayOptions& in_ways,
                      ThreadTeam::Lease* lease) const;
  /// Improves a plan by itself, with all threads.
  PlanResult improved(const Task& task, const PlanRequest& request, PlanResult start, Effort effort,
                      const WayOptions& in_ways, PlanLaunches& launches) const;
  /// `task` without its links: its plans are plans of `task`, than which no plan of this is to be
  /// dearer, so that CutSearch is given its plan. Nothing if it has no links, or another algorithm
  /// plans it.
  [[nodiscard]] std::optional<Task> without_links(const Task& task) const;
  /// What planning that first may take of the time that there is.
  [[nodiscard]] static PlanRequest request_without_links(const PlanRequest& request);
  /// `without_links`: what came of that. An error is a warning of `result`.
  static void add_work_without_links(const PlanOutcome& without_links, PlanResult& result);
  /// Null: there is none.
  [[nodiscard]] static const Plan* plan_in(const PlanOutcome& outcome) {
    return outcome && outcome->plan ? &*outcome->plan : nullptr;
  }
  /// By CutSearch, each of whose parts is planned by plan_part(). `known`: as in its options.
  PlanResult plan_by_cut_search(const Task& task, const PlanRequest& request,
                                PlanLaunches& launches, const Plan* known = nullptr) const;
  struct CutJob {
    const Task& task;  ///< Valid.
    PlanOutcome& outcome;
    const Plan* known = nullptr;
  };
  void plan_by_cut_search(std::span<const CutJob> jobs, const PlanRequest& request) const;
  /// Improves the outcomes of jobs.
  void improve_all(std::span<const SearchDriver::Job> planned, const PlanRequest& request) const;
  /// By columns alone.
  void plan_in_parallel(std::span<const SearchDriver::Job> jobs, const PlanRequest& request,
                        const PlannerOptions& with) const;
  /// Near to a running plan, of slices of columns alone.
  Replanned replan_columns(const KeptTables& kept, const RestRequest& rest,
                           PlanLaunches& launches) const;
  /// For the searches of one call on one thread, or with `cpu` and so many threads: others try the
  /// GPU anew if it fails these. `launches`: FallbackBackend's.
  FallbackBackend gpu_beside(const Backend& of_cpu, std::size_t cpu_threads = 1,
                             PlanLaunches* launches = nullptr) const {
    return {*gpu, of_cpu, options.backend == "auto", cpu_threads, launches};
  }
  ThreadTeam& team() const;
  /// Adds what the models were not trained on, or do not look at, to the warning of `cost`.
  void add_warning(const Task& task, const Plan& plan, PlanCost& cost) const {
    cost.warning = joined_warnings(cost.warning, ranges.warning(task, plan, cost));
    cost.warning =
        joined_warnings(cost.warning, prediction_limits(task, cpu->follows_weight_types()));
  }
  void add_warnings(const Task& task, PlanResult& result) const {
    if (result.plan) add_warning(task, *result.plan, result.cost);
    for (CostedPlan& other : result.alternatives) add_warning(task, other.plan, other.cost);
  }

  PlannerOptions options;
  PlannerOptions published_options;  ///< The same, of the published search.
  std::unique_ptr<Backend> cpu;
  std::string no_gpu_warning;  ///< Before `gpu`, whose making writes it.
  std::unique_ptr<Backend> gpu;
  TrainingRanges ranges;  ///< Before `models`, which is moved from.
  bool any_cuts;          ///< Whether plans may have row blocks,
  bool replicas;          ///< and replicas.
  CostModels models;
  int threads;
  mutable std::mutex other_settings_lock;
  /// Made when asked for. Of so many settings as a scheduler might plan for in turn.
  mutable std::map<CommSetting, std::shared_ptr<const Impl>> other_settings;
  mutable std::once_flag team_started;
  mutable std::optional<ThreadTeam> team_of_plans;  ///< For single plans; the first one starts it.
};

template <typename Plan>
PlanResult Planner::Impl::with_row_blocks(const Task& task, const PlanRequest& request,
                                          PlanResult result, const Plan& plan) const {
  // On one device a block is the table.
  if (!any_cuts || task.devices == 1 || !may_need_row_blocks(result)) return result;
  return plan_with_row_blocks(
      *cpu, task, request, std::move(result),
      [&](const Task& part, const PlanRequest& of_part) -> std::optional<PlanResult> {
        if (!models.has_comm_for(part.devices)) return std::nullopt;
        return plan(part, of_part);
      });
}

template <typename Plan>
PlanResult Planner::Impl::with_required_blocks(const Task& task, const PlanRequest& request,
                                               const Plan& plan) const {
  return plan_with_required_blocks(
      *cpu, task, request,
      [&](const Task& part, const PlanRequest& of_part) -> std::optional<PlanResult> {
        if (!models.has_comm_for(part.devices)) return std::nullopt;
        return plan(part, of_part);
      },
      [&](const Task& rest, const PlanRequest& of_rest) {
        return with_row_blocks(rest, of_rest, plan(rest, of_rest), plan);
      });
}

/// What a planner is made of; throws Error if it has been moved from.
template <typename Impl>
const Impl& in_use(const std::unique_ptr<Impl>& impl) {
  if (!impl) throw Error("the planner has been moved from; use the one that it was moved to");
  return *impl;
}

}  // namespace neuroshard
