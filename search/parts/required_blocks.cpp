#include "search/parts/required_blocks.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/tables/table_rules.h"
#include "neuroshard/stop_condition.h"
#include "search/infeasibility/infeasibility.h"
#include "search/infeasibility/sharding_means.h"
#include "search/parts/best_plans.h"
#include "search/parts/even_blocks.h"
#include "search/parts/partial_task.h"

namespace neuroshard {
namespace {

using Tables = std::vector<std::uint32_t>;

// To lay out a block, and to price it.
constexpr std::chrono::nanoseconds kTimeOfBlock{800};

/// Which tables' rows are shared by all devices, and which by those of a node.
struct Grouping {
  Tables over_all;
  Tables over_nodes;

  friend bool operator==(const Grouping&, const Grouping&) = default;
};

/// All tables that may be either get the same.
Grouping grouping_of(const Task& task, const Tables& tables, bool nodes_first) {
  const std::vector<int> groups = block_groups(task);
  Grouping grouping;
  for (const std::uint32_t t : tables) {
    const Table& table = task.tables[t];
    const bool all = may_be_cut(task, table, groups.front());
    const bool nodes = groups.size() > 1 && may_be_cut(task, table, groups.back());
    (all && !(nodes && nodes_first) ? grouping.over_all : grouping.over_nodes).push_back(t);
  }
  return grouping;
}

template <typename Wanted>
Tables tables_that(const Task& task, const Wanted& wanted) {
  Tables tables;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (wanted(task.tables[t])) tables.push_back(t);
  }
  return tables;
}

/// Plans with the same tables in row blocks, of one task.
class RequiredBlockPlans {
 public:
  RequiredBlockPlans(const Backend& backend, const Task& task, const PlanRequest& request,
                     const PlanByColumns& plan_columns, const PlanRest& plan_rest)
      : backend_(backend),
        task_(task),
        request_(request),
        stop_(request.deadline, request.stop),
        plan_columns_(plan_columns),
        plan_rest_(plan_rest),
        required_(tables_to_cut_by_rows(task)),
        found_(backend, task, request, SearchStage::kRowBlocks, 0.0) {
    stats_.backend = backend.name();
  }

  PlanResult run() {
    const Grouping all_first = grouping_of(task_, required_, false);
    const Grouping nodes_first = grouping_of(task_, required_, true);
    try_grouping(all_first);
    if (all_first != nodes_first) try_grouping(nodes_first);
    PlanResult result;
    if (found_.empty()) {
      result.cost.cost_ms = std::numeric_limits<double>::infinity();
      result.infeasible = stopped() ? nothing_in_time(task_) : reason();
    } else {
      result = found_.take();
    }
    result.complete = complete_ && !stopped();
    result.stats = std::move(stats_);
    result.stats.search_ms = found_.elapsed_ms();
    return result;
  }

 private:
  [[nodiscard]] bool stopped() const { return too_late_ || stop_.reached(); }

  /// Whether there is no time to lay out and price the blocks, once begun.
  [[nodiscard]] bool is_too_late() const {
    StopCondition by_then = stop_;
    by_then.keep(kTimeOfBlock * required_.size() * static_cast<std::size_t>(task_.devices));
    return by_then.reached();
  }

  void try_grouping(const Grouping& grouping) {
    too_late_ = too_late_ || is_too_late();
    if (too_late_) return;
    Plan plan;
    plan.shards.resize(static_cast<std::size_t>(task_.devices));
    DeviceLoads loads = loads_of_devices(backend_, task_, plan);
    const std::vector<int> groups = block_groups(task_);
    for (const auto& [tables, group] : {std::pair(&grouping.over_all, groups.front()),
                                        std::pair(&grouping.over_nodes, groups.back())}) {
      if (tables->empty()) continue;
      const PartialTask cut = blocks_of_groups(task_, *tables, group, loads);
      const std::optional<Plan> blocks = plan_blocks(cut.task);
      if (!blocks) return fail(std::nullopt);
      add_blocks(plan, task_, cut, *blocks, group);
      loads = loads_of_devices(backend_, task_, plan);
    }
    if (!has_room_for(task_, loads)) return fail(std::nullopt);
    if (required_.size() == task_.tables.size()) {
      (void)found_.consider(std::move(plan));
      return;
    }
    if (!has_room_beside(task_, loads)) return fail(loads.most_bytes());
    const PartialTask rest = task_without(task_, required_, loads);
    const std::optional<PlanResult> planned = plan_part(plan_rest_, rest.task);
    if (!planned || !planned->plan) return fail(loads.most_bytes());
    const auto consider = [&](const Plan& of_rest) {
      Plan joined = plan;
      add_part(joined, rest, of_rest);
      (void)found_.consider(std::move(joined));
    };
    consider(*planned->plan);
    for (const CostedPlan& other : planned->alternatives) consider(other.plan);
  }

  /// Nothing if there is no room. On one group there is but one plan.
  std::optional<Plan> plan_blocks(const Task& task) {
    if (largest_room_bytes(task) <= 0) return std::nullopt;
    if (task.devices == 1) return plan_of_one_group(task);
    if (proof_by_memory(task)) return std::nullopt;
    std::optional<PlanResult> planned = plan_part(plan_columns_, task);
    return planned ? std::move(planned->plan) : std::nullopt;
  }

  std::optional<PlanResult> plan_part(const PlanByColumns& plan, const Task& task) {
    PlanRequest request = request_;
    request.on_improvement = nullptr;
    std::optional<PlanResult> planned = plan(task, request);
    if (!planned) return planned;
    add_work(stats_, planned->stats);
    complete_ &= planned->complete;
    return planned;
  }

  /// `taken_bytes`: of each device, by the blocks, if they have room.
  void fail(std::optional<std::int64_t> taken_bytes) { taken_bytes_ = taken_bytes; }

  /// Why the last grouping led to no plan.
  [[nodiscard]] Infeasibility reason() const {
    return no_room_beside(task_, required_, "cut by rows", taken_bytes_, stop_);
  }

  const Backend& backend_;
  const Task& task_;
  const PlanRequest& request_;
  StopCondition stop_;
  const PlanByColumns& plan_columns_;
  const PlanRest& plan_rest_;
  Tables required_;
  BestPlans found_;
  SearchStats stats_;
  bool complete_ = true;
  bool too_late_ = false;
  std::optional<std::int64_t> taken_bytes_;  ///< As of the last fail().
};

}  // namespace

bool may_be_in_blocks(const Task& task, const Table& table) {
  return std::ranges::any_of(block_groups(task),
                             [&](int group) { return may_be_cut(task, table, group); });
}

std::vector<std::uint32_t> tables_to_cut_by_rows(const Task& task) {
  return tables_that(task, [&](const Table& table) {
    return !may_be_in_columns(task, table) && may_be_in_blocks(task, table);
  });
}

std::vector<std::uint32_t> tables_to_replicate(const Task& task) {
  return tables_that(task, [&](const Table& table) {
    return !may_be_in_columns(task, table) && !may_be_in_blocks(task, table) &&
           may_be_sharded(task, table, ShardingKind::kReplicate);
  });
}

PlanResult plan_with_required_blocks(const Backend& backend, const Task& task,
                                     const PlanRequest& request, const PlanByColumns& plan_columns,
                                     const PlanRest& plan_rest) {
  return RequiredBlockPlans(backend, task, request, plan_columns, plan_rest).run();
}

}  // namespace neuroshard
