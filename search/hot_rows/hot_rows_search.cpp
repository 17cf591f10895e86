// Plans with hot rows: Planner::Impl::add_hot_rows().
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "core/plans/deduplicated_task.h"
#include "core/plans/hot_rows.h"
#include "core/tables/table_rules.h"
#include "neuroshard/simulator.h"
#include "search/engine/best_plans.h"
#include "search/hot_rows/flexshard.h"
#include "search/hot_rows/popular_tables.h"
#include "search/planner_impl.h"

namespace neuroshard {
namespace {

// Choices, each of which is planned. The second one knows how the first one's tables are cut.
constexpr int kHotRowRounds = 2;
// Rows that are looked up so often by each device's part of a batch, 1/16 to 64, are tried as hot.
constexpr int kLeastLogLookups = -4;
constexpr int kMostLogLookups = 6;
// Tables, those with most traffic first, whose numbers of rows are tried one by one, each so many
// times as large.
constexpr std::size_t kMostSingleTables = 16;
constexpr std::array kTimes = {0.25, 0.5, 2.0, 4.0, 0.0};

/// Numbers of rows by what a plan costs with them, if it stays as it is.
class RowChoice {
 public:
  /// Borrows all. `plan` has this price.
  RowChoice(const Backend& backend, const Task& task, const PopularTables& tables,
            const BestPlans& plans, const StopCondition& stop)
      : backend_(backend),
        task_(task),
        tables_(tables),
        plans_(plans),
        stop_(stop),
        plan_(*plans.best().plan),
        best_(plan_.hot_rows),
        best_ms_(plans.compared_ms(plan_, plans.best().cost)) {}

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

 private:
  void try_thresholds(const std::vector<int>& of) {
    if (of.empty()) return;
    const std::vector<HotRows> others = best_;
    for (int log = kMostLogLookups; log >= kLeastLogLookups; --log) {
      std::vector<HotRows> trial = others;
      for (const int table : of) {
        set(table, tables_.rows(table, std::exp2(log) * task_.devices), trial);
      }
      consider(trial);
    }
  }

  void try_numbers(int table) {
    const auto found = std::ranges::find(best_, table, &HotRows::table);
    // If it has none, all rows that each device looks up count.
    const auto rows = static_cast<double>(
        found != best_.end() ? found->rows : tables_.rows(table, task_.devices));
    for (const double times : kTimes) {
      std::vector<HotRows> trial = best_;
      set(table, tables_.limited(table, times * rows), trial);
      consider(trial);
    }
  }

  static void set(int table, std::int64_t rows, std::vector<HotRows>& trial) {
    const auto place = std::ranges::lower_bound(trial, table, {}, &HotRows::table);
    const bool has = place != trial.end() && place->table == table;
    if (rows == 0) {
      if (has) trial.erase(place);
    } else if (has) {
      place->rows = rows;
    } else {
      trial.insert(place, {table, rows});
    }
  }

  void consider(const std::vector<HotRows>& trial) {
    if (trial == best_ || stop_.reached()) return;
    const Plan changed = with_other_hot_rows(task_, plan_, trial);
    const PlanCost cost = simulate(backend_, task_, changed);
    if (!cost.fits_memory) return;
    const double ms = plans_.compared_ms(changed, cost);
    if (ms >= best_ms_) return;
    best_ms_ = ms;
    best_ = changed.hot_rows;
  }

  const Backend& backend_;
  const Task& task_;
  const PopularTables& tables_;
  const BestPlans& plans_;
  const StopCondition& stop_;
  const Plan plan_;
  std::vector<HotRows> best_;
  double best_ms_;
};

}  // namespace

PlanResult Planner::Impl::plan_with(const std::vector<HotRows>& hot_rows, const Task& task,
                                    const PlanRequest& request, bool alone) const {
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
  PlanResult result =
      own.for_task(parts)->plan_anew(deduplicated.task(), half, options.effort, alone);
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
  const bool may = options.algorithm == Algorithm::kNeuroshard && ways.replicas;
  if (!may || options.equal_widths) return;
  const StopCondition stop(request.deadline, request.stop);
  if (stop.reached()) {
    result.complete = false;
    return;
  }
  const PopularTables tables(task);
  SearchStats stats = result.stats;
  bool complete = result.complete;
  BestPlans plans(*cpu, task, request, std::move(result));
  plans.begin(SearchStage::kImprovement);
  std::vector<HotRows> planned;
  for (int round = 0; round < kHotRowRounds && !stop.reached(); ++round) {
    std::vector<HotRows> chosen = RowChoice(*cpu, task, tables, plans, stop).chosen();
    if (chosen.empty() || chosen == planned) break;
    PlanResult other = plan_with(chosen, task, request, alone);
    add_work(stats, other.stats);
    complete = complete && other.complete;
    if (!other.plan) break;
    plans.consider(*std::move(other.plan));
    planned = std::move(chosen);
  }
  stats.search_ms = plans.elapsed_ms();
  result = plans.take();
  result.stats = std::move(stats);
  result.complete = complete && !stop.reached();
}

}  // namespace neuroshard
