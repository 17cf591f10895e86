// Plans with hot rows: Planner::Impl::add_hot_rows(), change_hot_rows().
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/plans/deduplicated_task.h"
#include "core/plans/hot_rows.h"
#include "core/plans/priced_plan.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "search/engine/best_plans.h"
#include "search/hot_rows/flexshard.h"
#include "search/hot_rows/hot_rows_change.h"
#include "search/hot_rows/popular_tables.h"
#include "search/planner_impl.h"
#include "search/replanning/move_budget.h"
#include "search/replanning/replanning.h"

namespace neuroshard {
namespace {

// Choices, each of which is planned. The second one knows how the first one's tables are cut.
constexpr int kHotRowRounds = 2;
// Rows that are looked up so often by each device's part of a batch, 1/16 to 64, are tried as hot.
constexpr int kLeastLogLookups = -4;
constexpr int kMostLogLookups = 6;
// Limits of moves may leave room for those alone that are looked up more often, up to 65,536 times.
constexpr int kMostLogLookupsOfMoves = 16;
// Tables, those with most traffic first, whose numbers of rows are tried one by one, each so many
// times as large.
constexpr std::size_t kMostSingleTables = 16;
constexpr std::array kTimes = {0.25, 0.5, 2.0, 4.0, 0.0};
// Shares of the rows on every device that stay there when others are tried once on each node.
constexpr std::array kSharesOfHot = {1.0, 0.5, 0.25, 0.0};
// Other rows than those of a running plan have to save this share of the cost.
constexpr double kLeastGainOfOtherHotRows = 0.01;

/// Numbers of rows by what a plan costs with them, if it stays as it is.
class RowChoice {
 public:
  /// Plans are compared by their slowest devices and this; infinity: one is not to be.
  using ChargeMs = std::function<double(const Plan&)>;

  /// Borrows all. `found` has a plan and its cost.
  RowChoice(const Backend& backend, const Task& task, PopularTables& tables,
            const PlanResult& found, const ChargeMs& charge_ms, int most_log_lookups,
            const StopCondition& stop)
      : backend_(backend),
        task_(task),
        tables_(tables),
        charge_ms_(charge_ms),
        most_log_lookups_(most_log_lookups),
        stop_(stop),
        plan_(*found.plan),
        best_(plan_.hot_rows),
        best_ms_(found.cost.slowest_ms() + charge_ms(plan_)) {}

  [[nodiscard]] std::vector<HotRows> chosen() {
    // Tables whose rows are sent, one by one; pooled ones; the former that are replicated.
    std::array<std::vector<int>, 3> kinds;
    std::vector<int> single;
    for (const int t : tables_.by_traffic()) {
      const Table& table = task_.tables[static_cast<std::size_t>(t)];
      const bool rows =
          table.pooling == Pooling::kNone || std::ranges::binary_search(plan_.deduplicated, t);
      const bool whole = std::ranges::binary_search(plan_.replicas, t);
      if (whole && !(rows && may_be_sharded(task_, table, ShardingKind::kRow))) continue;
      kinds[whole ? 2 : rows ? 0 : 1].push_back(t);
      if (rows && single.size() < kMostSingleTables) single.push_back(t);
    }
    for (const std::vector<int>& kind : kinds) try_thresholds(kind);
    for (const int table : single) try_numbers(table);
    return best_;
  }

  /// Some of each table whose rows are sent once on each node, too, where that pays.
  [[nodiscard]] std::vector<HotRows> chosen_with_node_rows() {
    std::vector<int> of;
    for (const int t : tables_.by_traffic()) {
      const bool rows = task_.tables[static_cast<std::size_t>(t)].pooling == Pooling::kNone ||
                        std::ranges::binary_search(plan_.deduplicated, t);
      if (rows && !std::ranges::binary_search(plan_.replicas, t)) of.push_back(t);
    }
    for (const double share : kSharesOfHot) try_node_thresholds(of, share);
    for (std::size_t i = 0; i < std::min(of.size(), kMostSingleTables); ++i) {
      if (rows_of(of[i], best_).node_rows > 0) try_node_numbers(of[i]);
    }
    return best_;
  }

 private:
  void try_thresholds(const std::vector<int>& of) {
    if (of.empty()) return;
    const std::vector<HotRows> others = best_;
    for (int log = most_log_lookups_; log >= kLeastLogLookups; --log) {
      std::vector<HotRows> trial = others;
      for (const int table : of) {
        set({table, tables_.rows(table, std::exp2(log) * task_.devices)}, trial);
      }
      consider(trial);
    }
  }

  void try_node_thresholds(const std::vector<int>& of, double share_of_hot) {
    const int nodes = task_.devices / task_.devices_per_node;
    const std::vector<HotRows> others = best_;
    const auto has_hot = [](const HotRows& hot) { return hot.rows > 0; };
    if (share_of_hot < 1.0 && std::ranges::none_of(others, has_hot)) return;
    for (int log = most_log_lookups_; log >= kLeastLogLookups; --log) {
      std::vector<HotRows> trial = others;
      bool any = false;
      for (const int table : of) {
        HotRows hot = rows_of(table, others);
        hot.rows = tables_.limited(table, std::ceil(share_of_hot * static_cast<double>(hot.rows)));
        const std::int64_t all = tables_.rows(table, std::exp2(log) * nodes);
        hot.node_rows = std::max<std::int64_t>(0, all - hot.rows);
        any |= hot.node_rows > 0;
        set(hot, trial);
      }
      if (any) consider(trial);
    }
  }

  void try_numbers(int table) {
    const auto found = std::ranges::find(best_, table, &HotRows::table);
    // If it has none, all rows that each device looks up count.
    const auto rows = static_cast<double>(
        found != best_.end() ? found->rows : tables_.rows(table, task_.devices));
    for (const double times : kTimes) {
      std::vector<HotRows> trial = best_;
      set({table, tables_.limited(table, times * rows)}, trial);
      consider(trial);
    }
  }

  /// Both numbers of a table that has rows on each node.
  void try_node_numbers(int table) {
    for (std::int64_t HotRows::*const rows : {&HotRows::node_rows, &HotRows::rows}) {
      const HotRows before = rows_of(table, best_);
      for (const double times : kTimes) {
        HotRows hot = before;
        hot.*rows = tables_.limited(table, times * static_cast<double>(before.*rows));
        hot.node_rows = std::min(hot.node_rows, tables_.most_rows(table) - hot.rows);
        std::vector<HotRows> trial = best_;
        set(hot, trial);
        consider(trial);
      }
    }
  }

  [[nodiscard]] static HotRows rows_of(int table, const std::vector<HotRows>& hot_rows) {
    const auto found = std::ranges::find(hot_rows, table, &HotRows::table);
    return found != hot_rows.end() ? *found : HotRows{.table = table};
  }

  static void set(const HotRows& hot, std::vector<HotRows>& trial) {
    const auto place = std::ranges::lower_bound(trial, hot.table, {}, &HotRows::table);
    const bool has = place != trial.end() && place->table == hot.table;
    if (hot.all() == 0) {
      if (has) trial.erase(place);
    } else if (has) {
      *place = hot;
    } else {
      trial.insert(place, hot);
    }
  }

  void consider(const std::vector<HotRows>& trial) {
    if (trial == best_ || stop_.reached()) return;
    const Plan changed = with_other_hot_rows(task_, plan_, trial);
    const double charge_ms = charge_ms_(changed);
    if (charge_ms >= best_ms_) return;
    const PlanCost cost = cost_of(backend_, PricedPlan(task_, changed, parts_of_));
    if (!cost.fits_memory) return;
    const double ms = cost.slowest_ms() + charge_ms;
    if (ms >= best_ms_) return;
    best_ms_ = ms;
    best_ = changed.hot_rows;
  }

  const Backend& backend_;
  const Task& task_;
  PopularTables& tables_;
  std::function<const HotParts&(const HotRows&)> parts_of_ = [&](const HotRows& hot) -> auto& {
    return tables_.parts(hot);
  };
  const ChargeMs& charge_ms_;
  int most_log_lookups_;
  const StopCondition& stop_;
  const Plan plan_;
  std::vector<HotRows> best_;
  double best_ms_;
};

}  // namespace

PlanResult Planner::Impl::plan_with(const std::vector<HotRows>& hot_rows, const Task& task,
                                    const PlanRequest& request, Effort effort, bool alone) const {
  Plan only_hot;
  only_hot.hot_rows = hot_rows;
  const HotRowsSplit split(task, only_hot);
  Task parts = split.task();
  for (std::size_t t = task.tables.size(); t < parts.tables.size(); ++t) {
    parts.tables[t].rules.kinds = {ShardingKind::kReplicate};
  }
  const DeduplicatedTask deduplicated(parts);
  const PlanRequest half = with_half_the_time(
      {.deadline = request.deadline, .stop = request.stop, .storage = request.storage});
  PlanResult result = own.for_task(parts)->plan_anew(deduplicated.task(), half, effort, alone);
  if (result.plan) result.plan = with_hot_rows(task, hot_rows, *result.plan);
  return result;
}

void Planner::Impl::add_hot_rows(const Task& task, const PlanRequest& request, bool alone,
                                 PlanResult& result) const {
  if (!task.exchange.hot_rows || !result.plan) return;
  if (options.algorithm == Algorithm::kFlexshard) {
    std::tie(*result.plan, result.cost) = with_tiers(*cpu, task, PopularTables(task), *result.plan);
    return;
  }
  if (!may_choose_hot_rows()) return;
  choose_hot_rows(task, request, options.effort, alone, result);
  // Hot rows are chosen beside one plan: beside that of less effort, others may be worth more.
  const StopCondition stop(request.deadline, request.stop);
  const PlanRequest of_less{
      .deadline = request.deadline, .stop = request.stop, .storage = request.storage};
  SearchStats stats = result.stats;
  bool complete = result.complete;
  BestPlans plans(*cpu, task, request, std::move(result));
  const DeduplicatedTask deduplicated(task);
  for (const Effort less : all_efforts()) {
    if (less >= options.effort || stop.reached()) break;
    PlanResult other = plan_anew(deduplicated.task(), with_half_the_time(of_less), less, alone);
    if (other.plan) choose_hot_rows(task, of_less, less, alone, other);
    add_work(stats, other.stats);
    complete = complete && other.complete;
    if (other.plan) plans.consider(*std::move(other.plan));
  }
  result = plans.take(std::move(stats), complete && !stop.reached());
}

void Planner::Impl::choose_hot_rows(const Task& task, const PlanRequest& request, Effort effort,
                                    bool alone, PlanResult& result) const {
  const StopCondition stop(request.deadline, request.stop);
  if (stop.reached()) {
    result.complete = false;
    return;
  }
  PopularTables tables(task);
  SearchStats stats = result.stats;
  bool complete = result.complete;
  BestPlans plans(*cpu, task, request, std::move(result));
  const RowChoice::ChargeMs charge_ms = [&](const Plan& plan) { return plans.charge_ms(plan); };
  plans.begin(SearchStage::kImprovement);
  std::vector<HotRows> planned;
  for (int round = 0; round < kHotRowRounds && !stop.reached(); ++round) {
    std::vector<HotRows> chosen =
        RowChoice(*cpu, task, tables, plans.best(), charge_ms, kMostLogLookups, stop).chosen();
    if (chosen.empty() || chosen == planned) break;
    PlanResult other = plan_with(chosen, task, request, effort, alone);
    add_work(stats, other.stats);
    complete = complete && other.complete;
    if (!other.plan) break;
    plans.consider(*std::move(other.plan));
    planned = std::move(chosen);
  }
  if (may_choose_node_rows(task) && !stop.reached()) {
    // All else stays as it is. Planned anew, drawn tasks cost a thousandth less.
    RowChoice choice(*cpu, task, tables, plans.best(), charge_ms, kMostLogLookups, stop);
    plans.consider(with_other_hot_rows(task, *plans.best().plan, choice.chosen_with_node_rows()));
  }
  result = plans.take(std::move(stats), complete && !stop.reached());
}

ReplanResult Planner::Impl::replan_with(const std::vector<HotRows>& hot_rows, const Task& stated,
                                        const RunningPlan& running, const PlanCost& running_cost,
                                        const ReplanRequest& request) const {
  const HotRowsChange change(stated, running, hot_rows);
  const DeduplicatedTask deduplicated(change.task());
  const Task& given = deduplicated.task();
  std::optional<Task> with_rules;
  const Task& task = given.groups.empty() ? given : with_rules.emplace(with_rules_of_groups(given));
  const StopCondition stop(request.plan.deadline, request.plan.stop);
  const std::shared_ptr<const Impl> of_parts = own.for_task(change.task());
  ReplanResult result = replan_near(
      *of_parts->cpu, {.task = task,
                       .running = change.running(),
                       .before = change.before(),
                       .running_cost = running_cost,
                       .request = request,
                       .ways = ways,
                       .effort = options.effort,
                       .stop = stop,
                       .team = threads > 1 ? &team() : nullptr,
                       .plan_anew = [&](const Task& anew, Effort effort) {
                         return of_parts->plan_anew(
                             anew, {.deadline = request.plan.deadline, .stop = request.plan.stop},
                             effort, false);
                       }});
  change.undo(result);
  if (!hot_rows.empty() && result.result.plan) {
    result.result.cost = neuroshard::simulate(*cpu, stated, *result.result.plan);
  }
  return result;
}

void Planner::Impl::change_hot_rows(const Task& task, const RunningPlan& running,
                                    const ReplanRequest& request, ReplanResult& result) const {
  if (!task.exchange.hot_rows || !may_choose_hot_rows() || !result.result.plan) return;
  const StopCondition stop(request.plan.deadline, request.plan.stop);
  MoveBudget budget(request);
  budget.least_bytes = result.must_move_bytes;
  if (!budget.bytes) budget.set(budget.least_bytes + budget.least_bytes / kShareOnTop);
  if (request.unspent_bytes) budget.price_moves(result.result.cost.slowest_ms());
  const std::int64_t most_bytes = std::max(*budget.bytes, result.moved_bytes);
  // Copies may take the place of moves that a plan does well without.
  const std::int64_t most_copied_bytes =
      most_bytes - std::min(result.moved_bytes, result.must_move_bytes);
  const RowChoice::ChargeMs charge_ms = [&](const Plan& plan) {
    const std::int64_t bytes = HotRowCopies(task, running, plan.hot_rows).bytes();
    return bytes > most_copied_bytes ? std::numeric_limits<double>::infinity()
                                     : budget.ms_per_byte * static_cast<double>(bytes);
  };
  PopularTables tables(task);
  const auto charged_ms = [&](const ReplanResult& one) {
    return one.result.cost.slowest_ms() + budget.ms_per_byte * static_cast<double>(one.moved_bytes);
  };
  const auto consider = [&](const std::vector<HotRows>& chosen) {
    if (stop.reached()) result.result.complete = false;
    if (chosen == result.result.plan->hot_rows || stop.reached()) return;
    ReplanRequest rest = request;
    rest.unspent_bytes.reset();
    if (!budget.is_any()) {
      rest.most_moved_bytes = most_bytes - HotRowCopies(task, running, chosen).bytes();
    }
    ReplanResult other;
    try {
      other = replan_with(chosen, task, running, result.running_cost, rest);
    } catch (const Error&) {
      return;  // Copies of hot rows leave too little of the budget.
    }
    SearchStats stats = result.result.stats;
    add_work(stats, other.result.stats);
    const bool complete = result.result.complete && other.result.complete;
    if (charged_ms(other) < (1.0 - kLeastGainOfOtherHotRows) * charged_ms(result)) {
      other.must_move_bytes = result.must_move_bytes;
      other.unspent_bytes = budget.unspent_bytes(other.moved_bytes);
      result = std::move(other);
    }
    result.result.stats = std::move(stats);
    result.result.complete = complete;
  };
  const auto choice = [&] {
    return RowChoice(*cpu, task, tables, result.result, charge_ms, kMostLogLookupsOfMoves, stop);
  };
  consider(choice().chosen());
  if (may_choose_node_rows(task)) consider(choice().chosen_with_node_rows());
}

}  // namespace neuroshard
