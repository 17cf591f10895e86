#include "search/parts/row_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/tables/table_rules.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/training_ranges.h"
#include "search/infeasibility/infeasibility.h"
#include "search/parts/best_plans.h"
#include "search/parts/even_blocks.h"
#include "search/parts/partial_task.h"

namespace neuroshard {
namespace {

// Numbers of tables grow by this part of themselves, and at least by one.
constexpr std::size_t kGrowth = 2;
// So many in a row that lead to no cheaper plan end the trials.
constexpr int kTrialsWithoutGain = 2;

using Tables = std::vector<std::uint32_t>;

std::int64_t narrowest_bytes(const Table& table) {
  return slice_bytes(table, narrowest_dim(table));
}

/// Tables that hinder a packing come first, tables that may not be cut by rows last.
Tables by_narrowest_slice(const Task& task, int group) {
  std::vector<std::tuple<bool, std::int64_t, std::int64_t>> bytes;
  for (const Table& table : task.tables) {
    bytes.emplace_back(may_be_cut(task, table, group), narrowest_bytes(table), table.size_bytes());
  }
  Tables order(task.tables.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order,
                           [&](std::uint32_t a, std::uint32_t b) { return bytes[a] > bytes[b]; });
  return order;
}

/// Plans with some tables in row blocks, of one task.
class RowBlockPlans {
 public:
  RowBlockPlans(const Backend& backend, const Task& task, const PlanRequest& request,
                PlanResult by_columns, const PlanByColumns& plan)
      : backend_(backend),
        task_(task),
        request_(request),
        stop_(request.deadline, request.stop),
        plan_(plan),
        by_columns_(std::move(by_columns)),
        found_(backend, task, request, SearchStage::kRowBlocks, by_columns_.stats.search_ms) {}

  PlanResult run() {
    for (const int group : block_groups(task_)) try_groups_of(group);
    by_columns_.stats.search_ms = found_.elapsed_ms();
    PlanResult result = found_.empty() ? by_columns_ : found_.take();
    result.stats = std::move(by_columns_.stats);
    if (stop_.reached()) {
      result.complete = false;
      if (!result.plan) result.infeasible = nothing_in_time(task_);
    }
    return result;
  }

 private:
  /// Blocks on groups of `group` devices side by side.
  void try_groups_of(int group) {
    order_ = by_narrowest_slice(task_, group);
    const auto most = static_cast<std::size_t>(std::ranges::count_if(
        order_, [&](std::uint32_t t) { return may_be_cut(task_, task_.tables[t], group); }));
    if (most == 0) return;
    const std::int64_t room = largest_room_bytes(task_);
    const auto too_large = std::ranges::find_if(
        order_, [&](std::uint32_t t) { return narrowest_bytes(task_.tables[t]) <= room; });
    const auto forced = std::min(most, static_cast<std::size_t>(too_large - order_.begin()));
    int without_gain = 0;
    for (std::size_t count = std::max<std::size_t>(1, forced);;) {
      if (stop_.reached()) return;
      const bool found = try_tables(group, count);
      if (!found_.empty() && !found && ++without_gain == kTrialsWithoutGain) return;
      if (found) without_gain = 0;
      if (count == most) return;
      count = std::min(most, count + std::max<std::size_t>(1, count / kGrowth));
    }
  }

  /// True if that is the cheapest plan so far. `count`: tables in blocks.
  bool try_tables(int group, std::size_t count) {
    Tables first(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(first);
    Plan without_others;
    without_others.shards.resize(static_cast<std::size_t>(task_.devices));
    const PartialTask cut = blocks_of_groups(task_, std::move(first), group,
                                             loads_of_devices(backend_, task_, without_others));
    const std::optional<Plan> blocks = plan_blocks(cut.task);
    if (!blocks) return false;
    add_blocks(without_others, task_, cut, *blocks, group);
    if (cut.tables.size() == task_.tables.size()) return found_.consider(without_others);
    const DeviceLoads loads = loads_of_devices(backend_, task_, without_others);
    if (!has_room_beside(task_, loads)) return false;
    const PartialTask rest = task_without(task_, cut.tables, loads);
    const std::optional<PlanResult> planned = plan_part(rest.task);
    if (!planned || !planned->plan) return false;
    bool better = found_.consider(joined(without_others, rest, *planned->plan));
    for (const CostedPlan& other : planned->alternatives) {
      better |= found_.consider(joined(without_others, rest, other.plan));
    }
    return better;
  }

  /// Nothing if there is no room.
  std::optional<Plan> plan_blocks(const Task& task) {
    if (task.devices == 1) return plan_of_one_group(task);
    std::optional<PlanResult> planned = plan_part(task);
    return planned ? std::move(planned->plan) : std::nullopt;
  }

  std::optional<PlanResult> plan_part(const Task& task) {
    if (proof_by_memory(task)) return std::nullopt;
    PlanRequest request;
    request.deadline = request_.deadline;
    request.stop = request_.stop;
    request.alternatives = request_.alternatives;
    std::optional<PlanResult> planned = plan_(task, request);
    if (planned) add_work(by_columns_.stats, planned->stats);
    return planned;
  }

  static Plan joined(Plan plan, const PartialTask& rest, const Plan& of_rest) {
    add_part(plan, rest, of_rest);
    return plan;
  }

  const Backend& backend_;
  const Task& task_;
  const PlanRequest& request_;
  StopCondition stop_;
  const PlanByColumns& plan_;
  Tables order_;           ///< For the group at hand.
  PlanResult by_columns_;  ///< Its statistics become those of all.
  BestPlans found_;
};

}  // namespace

Cuts default_cuts(const CostModels& models) {
  return TrainingRanges(models).known() ? Cuts::kAny : Cuts::kColumns;
}

PlannerOptions without_presets(PlannerOptions options) {
  if (options.cuts == Cuts::kTorchrec) {
    options.cuts = Cuts::kAny;
    options.equal_widths = true;
  }
  return options;
}

bool may_need_row_blocks(const PlanResult& by_columns) {
  return by_columns.infeasible &&
         (by_columns.infeasible->kind == Infeasibility::Kind::kPieceTooLarge ||
          by_columns.infeasible->kind == Infeasibility::Kind::kPacking);
}

PlanResult plan_with_row_blocks(const Backend& backend, const Task& task,
                                const PlanRequest& request, PlanResult by_columns,
                                const PlanByColumns& plan) {
  return RowBlockPlans(backend, task, request, std::move(by_columns), plan).run();
}

}  // namespace neuroshard
