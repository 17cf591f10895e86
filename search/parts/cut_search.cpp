#include "search/parts/cut_search.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "core/tables/table_rules.h"
#include "neuroshard/simulator.h"
#include "search/infeasibility/infeasibility.h"
#include "search/infeasibility/sharding_means.h"
#include "search/parts/column_parts.h"
#include "search/parts/device_loads.h"
#include "search/parts/even_blocks.h"
#include "search/parts/node_blocks.h"
#include "search/parts/required_blocks.h"

namespace neuroshard {
namespace {

// Other cuts have to save more than this share of the cost: about what predictions are wrong by.
constexpr double kLeastSaving = 0.005;

// More row blocks than this are not tried: a plan takes 0.1 s to lay them out and to price them.
constexpr std::size_t kMostBlocks = std::size_t{1} << 17;

/// Of a table that may be in row blocks on nodes: nothing else.
void leave_node_blocks(TableRules& rules) {
  std::vector<ShardingKind> left;
  for (const ShardingKind kind : {ShardingKind::kTableRow, ShardingKind::kGrid}) {
    if (rules.allow(kind)) left.push_back(kind);
  }
  rules.kinds = std::move(left);
}

/// Only tables that halving may not cut so finely are left in parts.
CutChoice with_necessary_widths(const Task& task, CutChoice choice) {
  std::erase_if(choice.widths, [&](const TableWidths& widths) {
    const Table& table = task.tables[widths.table];
    return narrowest_dim(table) == kDimMultiple && !table.rules.limit_splits();
  });
  return choice;
}

}  // namespace

CutSearch::CutSearch(const Backend& backend, const Task& task, const PlanRequest& request,
                     const Options& options)
    : backend_(backend),
      task_(task),
      quiet_request_(request),
      options_(options),
      stop_(request.deadline, request.stop),
      found_(backend, task, request, SearchStage::kCuts, 0.0),
      required_(tables_to_replicate(task)),
      choices_(backend, task, required_, stop_) {
  stats_.backend = backend.name();
  quiet_request_.on_improvement = nullptr;
  if (options_.known != nullptr) choices_.try_known(known_choice());
  // Devices that differ are planned near to plans for equal ones.
  if (task.devices > 1) {
    try_equalized();
  } else {
    begin();
  }
}

void CutSearch::begin() {
  whole_planned_ = true;
  heuristics_tried_ = true;  // They begin the search.
  phase_ = Phase::kWhole;
  if (ask_for_rest({})) return;
  if (found_.empty()) start_from({});
  end();
}

void CutSearch::take(PlanResult planned) {
  add_work(stats_, planned.stats);
  stats_.search_ms += planned.stats.search_ms;
  stats_.backend = planned.stats.backend;
  complete_ &= planned.complete;
  switch (phase_) {
    case Phase::kWhole:
      return after_whole(std::move(planned));
    case Phase::kTrials:
      consider_parts(planned, most_ms_);
      return try_more();
    case Phase::kForRoom:
      consider_parts(planned, kAnyCost);
      return try_for_room();
    case Phase::kEqualized:
      of_equalized_->take(std::move(planned));
      return ask_for_equalized();
    case Phase::kNearEqualized:
      consider_parts(planned, kAnyCost);
      return plan_near_equalized();
    case Phase::kWholeAgain:
      if (found_.empty()) {
        start_from(std::move(planned));
      } else {
        consider_parts(planned, kAnyCost);
      }
      return end();
    case Phase::kFinished:
      return;
  }
}

void CutSearch::after_whole(PlanResult planned) {
  if (found_.empty()) {
    start_from(std::move(planned));
  } else {
    consider_parts(planned, kAnyCost);
  }
  if (!found_.empty()) most_ms_ = (1.0 - kLeastSaving) * found_.best().cost.cost_ms;
  whole_part_ = best_part_;
  if (found_.empty()) consider_known();
  if (stop_.reached() || task_.devices < 2) return end();
  // Where devices that differ find no packing, equal ones may, sooner than other cuts are tried.
  if (options_.columns_only || found_.empty()) return try_equalized();
  begin_trials();
}

void CutSearch::begin_trials() {
  phase_ = Phase::kTrials;
  try_more();
}

// At last: beside a plan made with all effort no trial would seem to be better.
void CutSearch::consider_known() {
  if (options_.known == nullptr || std::exchange(known_considered_, true)) return;
  trial_ = known_choice();
  (void)consider(*options_.known, kAnyCost);
}

CutChoice CutSearch::known_choice() const {
  CutChoice choice = choice_of(task_, *options_.known);
  choice.replicas = without_required(std::move(choice.replicas));
  return choice;
}

void CutSearch::try_more() {
  while (!stop_.reached()) {
    const std::optional<CutChoice> choice =
        choices_.next(best_, found_.empty() ? nullptr : &found_.best());
    if (!choice) break;
    if (ask_for_rest(*choice)) return;
  }
  if (stop_.reached()) return end();
  // A search for equal devices is but a start.
  if (found_.empty() && !room_searched_ && !keeps_parts_) return try_for_room();
  try_equalized();
}

void CutSearch::try_for_room() {
  phase_ = Phase::kForRoom;
  if (found_.empty() && !std::exchange(replicas_for_room_tried_, true)) {
    CutChoice choice;
    choice.replicas = without_required(tables_with_room_as_replicas(task_));
    if (choice != CutChoice{} && ask_for_rest(choice)) return;
  }
  if (!std::exchange(room_searched_, true) && found_.empty()) {
    roomy_ = plan_for_room(task_, options_.equal_widths, stop_);
    if (roomy_) {
      roomy_->choice.replicas = without_required(std::move(roomy_->choice.replicas));
      near_roomy_ = {roomy_->choice, with_necessary_widths(task_, roomy_->choice)};
      trial_ = roomy_->choice;
      (void)consider(roomy_->plan, kAnyCost);
    }
  }
  if (ask_near_roomy()) return;
  if (found_.empty() || stop_.reached()) return try_equalized();
  choices_.begin_again();
  begin_trials();
}

bool CutSearch::ask_near_roomy() {
  while (!near_roomy_.empty() && !stop_.reached()) {
    const CutChoice choice = std::move(near_roomy_.back());
    near_roomy_.pop_back();
    // The whole task had no plan without a start.
    if (choice == CutChoice{} && !roomy_->choice.widths.empty()) continue;
    if (!ask_for_rest(choice)) continue;
    std::optional<Plan> plan =
        next_->whole ? std::optional(roomy_->plan) : part_of(rest_, roomy_->plan);
    if (plan) {
      start_.plan = *std::move(plan);
      next_->start = &start_.plan;
    }
    return true;
  }
  return false;
}

void CutSearch::plan_whole_again() {
  if (stop_.reached()) return end();
  phase_ = Phase::kWholeAgain;
  (void)ask_for_rest({});
}

void CutSearch::end() {
  phase_ = Phase::kFinished;
  next_.reset();
}

std::vector<std::uint32_t> CutSearch::without_required(std::vector<std::uint32_t> tables) const {
  std::erase_if(tables, [&](std::uint32_t t) { return std::ranges::binary_search(required_, t); });
  return tables;
}

std::vector<std::uint32_t> CutSearch::on_nodes(const CutChoice& choice) {
  std::vector<std::uint32_t> tables;
  std::ranges::set_difference(choice.node_blocks, choice.replicas, std::back_inserter(tables));
  return tables;
}

std::vector<std::uint32_t> CutSearch::fix_tables(const CutChoice& choice) {
  std::vector<std::uint32_t> tables = required_;
  std::ranges::copy(choice.replicas, std::back_inserter(tables));
  std::ranges::sort(tables);
  fixed_ = {};
  fixed_.shards.resize(static_cast<std::size_t>(task_.devices));
  fixed_.replicas.assign(tables.begin(), tables.end());
  const std::vector<std::uint32_t> in_nodes = on_nodes(choice);
  for (const std::uint32_t t : choice.row_wise) {
    if (std::ranges::binary_search(fixed_.replicas, static_cast<int>(t)) ||
        std::ranges::binary_search(in_nodes, t)) {
      continue;
    }
    const Table& table = task_.tables[t];
    const TableSlice slice{static_cast<int>(t), 0, table.dim, 0, table.rows};
    add_blocks(fixed_, task_, slice, 0, task_.devices);
    tables.push_back(t);
  }
  // Without a price they are laid out by the search that plans the rest.
  if (!in_nodes.empty() && backend_.kind_price(ShardingKind::kTableRow) != nullptr) {
    add_node_blocks(fixed_, backend_, task_, in_nodes);
    tables.insert(tables.end(), in_nodes.begin(), in_nodes.end());
  }
  std::ranges::sort(tables);
  return tables;
}

bool CutSearch::ask_for_rest(const CutChoice& choice) {
  if (choice.row_wise.size() * static_cast<std::size_t>(task_.devices) > kMostBlocks) return false;
  trial_ = choice;
  const std::vector<std::uint32_t> fixed = fix_tables(choice);
  const std::vector<std::uint32_t> in_nodes = on_nodes(choice);
  if (fixed.empty() && in_nodes.empty() && choice.parts_share == 0.0 && choice.widths.empty()) {
    next_ = Part{.task = &task_, .whole = true};
    return true;
  }
  if (fixed.size() == task_.tables.size()) {
    (void)consider(fixed_, most_ms_);
    return false;
  }
  const DeviceLoads loads = loads_of_devices(backend_, task_, fixed_);
  if (!has_room_beside(task_, loads)) return false;
  rest_ = task_without(task_, fixed, loads);
  for (std::size_t i = 0; i < rest_.tables.size(); ++i) {
    if (std::ranges::binary_search(in_nodes, rest_.tables[i])) {
      leave_node_blocks(rest_.task.tables[i].rules);
    }
  }
  if (choice.parts_share > 0.0 || !choice.widths.empty()) {
    std::optional<PartialTask> cut =
        choice.widths.empty()
            ? with_column_parts(backend_, rest_, choice.parts_share, options_.equal_widths)
            : with_parts_of_widths(rest_, choice.widths, options_.equal_widths);
    if (cut) {
      rest_ = *std::move(cut);
    } else if (fixed.empty() && in_nodes.empty()) {
      return false;
    } else {
      trial_.parts_share = 0.0;  // What is left has no use for it.
      trial_.widths.clear();
      if (phase_ == Phase::kTrials && trial_ == best_) return false;
    }
  }
  next_ = Part{.task = &rest_.task, .whole = false};
  return true;
}

bool CutSearch::consider(Plan plan, double most_ms) {
  const bool best = found_.consider(std::move(plan), most_ms);
  if (best) {
    best_ = trial_;
    if (phase_ == Phase::kTrials) choices_.last_is_best();
  }
  return best;
}

void CutSearch::keep_part(const Plan& of_part) {
  if (!keeps_parts_) return;
  best_part_ = PlannedPart{.choice = trial_,
                           .tables = {},
                           .first_columns = {},
                           .plan = of_part,
                           .by_columns = !has_row_blocks(*next_->task, of_part),
                           .cost_ms = found_.best().cost.cost_ms};
  if (next_->whole) return;
  best_part_->tables = rest_.tables;
  best_part_->first_columns = rest_.first_columns;
}

void CutSearch::consider_parts(const PlanResult& planned, double most_ms) {
  const auto consider_with = [&](const Plan& of_part) {
    if (next_->whole) {
      if (consider(of_part, most_ms)) keep_part(of_part);
      return;
    }
    bool best = false;
    Plan plan = fixed_;
    add_part(plan, rest_, of_part);
    if ((trial_.parts_share > 0.0 || !trial_.widths.empty()) && !options_.equal_widths) {
      Plan joined = plan;
      join_column_parts(task_, rest_, joined);
      if (joined != plan) best = consider(std::move(joined), most_ms);
    }
    best |= consider(std::move(plan), most_ms);
    if (best) keep_part(of_part);
  };
  if (planned.plan) consider_with(*planned.plan);
  for (const CostedPlan& other : planned.alternatives) consider_with(other.plan);
}

void CutSearch::start_from(PlanResult planned) {
  if (required_.empty()) {
    found_.start_from(std::move(planned));
    if (!found_.empty()) keep_part(*found_.best().plan);
    return;
  }
  if (planned.plan) return consider_parts(planned, kAnyCost);
  planned.cost.cost_ms = kAnyCost;
  if (stop_.reached()) {
    planned.infeasible = nothing_in_time(task_);
  } else {
    const DeviceLoads loads = loads_of_devices(backend_, task_, fixed_);
    planned.infeasible = no_room_beside(
        task_, required_, "replicated",
        has_room_for(task_, loads) ? std::optional(loads.most_bytes()) : std::nullopt, stop_);
  }
  found_.start_from(std::move(planned));
}

PlanResult CutSearch::finish() {
  consider_known();
  PlanResult result = found_.take();
  result.stats = std::move(stats_);
  result.complete = complete_ && !(next_ || stop_.reached());
  return result;
}

}  // namespace neuroshard
