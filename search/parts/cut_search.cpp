#include "search/parts/cut_search.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "search/infeasibility.h"
#include "search/parts/column_parts.h"
#include "search/parts/even_blocks.h"
#include "search/parts/required_blocks.h"

namespace neuroshard {
namespace {

// Numbers of tables that are tried, of replicas and row-wise ones each.
constexpr std::size_t kTrialsOfFast = 1;
constexpr std::size_t kTrials = 5;

// Parts of tables take at most so much of what a device has to do on average, the likeliest first.
constexpr std::array kPartsShares = {0.5, 0.25, 1.0, 0.1};
constexpr std::size_t kSharesOfFast = 1;

// Other cuts have to save more than this share of the cost: about what predictions are wrong by.
constexpr double kLeastSaving = 0.005;

constexpr double kAnyCost = std::numeric_limits<double>::infinity();

}  // namespace

CutSearch::CutSearch(const Backend& backend, const Task& task, const PlanRequest& request,
                     Effort effort, bool equal_widths)
    : backend_(backend),
      task_(task),
      effort_(effort),
      equal_widths_(equal_widths),
      stop_(request.deadline, request.stop),
      found_(backend, task, request, SearchStage::kCuts, 0.0),
      required_(tables_to_replicate(task)) {
  stats_.backend = backend.name();
  if (ask_for_rest({}, task.devices < 2 ? effort : Effort::kFast)) return;
  if (found_.empty()) start_from({});
  end();
}

void CutSearch::take(PlanResult planned) {
  add_work(stats_, planned.stats);
  stats_.search_ms += planned.stats.search_ms;
  stats_.backend = planned.stats.backend;
  if (!planned.stats.warning.empty()) stats_.warning = planned.stats.warning;
  complete_ &= planned.complete;
  switch (phase_) {
    case Phase::kWhole:
      return after_whole(std::move(planned));
    case Phase::kReplicas:
    case Phase::kRowWise:
    case Phase::kColumnParts:
      consider_parts(planned, most_ms_);
      return try_more();
    case Phase::kBest:
      consider_parts(planned, most_ms_);
      return plan_whole_again();
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
  start_from(std::move(planned));
  if (!found_.empty()) most_ms_ = (1.0 - kLeastSaving) * found_.best().cost.cost_ms;
  if (stop_.reached() || task_.devices < 2) return end();
  phase_ = Phase::kColumnParts;
  try_more();
}

// Parts come first: tables that halving does not cut finely enough would be replicated or cut by
// rows for want of them.
std::optional<CutSearch::Choice> CutSearch::next_choice() {
  Choice choice = best_;
  if (phase_ == Phase::kColumnParts) {
    const std::size_t most =
        effort_ == Effort::kFast && !found_.empty() ? kSharesOfFast : kPartsShares.size();
    if (shares_tried_ < most) {
      choice.parts_share = kPartsShares[shares_tried_++];
      return choice;
    }
    phase_ = Phase::kReplicas;
    if (!found_.empty()) list_candidates();
  }
  if (phase_ == Phase::kReplicas) {
    if (const auto count = replicas_.next(best_.replicas)) {
      choice.replicas = *count;
      return choice;
    }
    phase_ = Phase::kRowWise;
  }
  if (const auto count = row_wise_.next(best_.row_wise)) {
    choice.row_wise = *count;
    return choice;
  }
  return std::nullopt;
}

void CutSearch::list_candidates() {
  const auto without_required = [&](std::vector<CutCandidate> candidates) {
    std::erase_if(candidates, [&](const CutCandidate& one) {
      return std::ranges::binary_search(required_, one.table);
    });
    return candidates;
  };
  const std::size_t trials = effort_ == Effort::kFast ? kTrialsOfFast : kTrials;
  const PlanResult& best = found_.best();
  replicas_ = {without_required(replica_candidates(backend_, task_, best.cost)), trials};
  row_wise_ = {without_required(row_wise_candidates(backend_, task_, *best.plan, best.cost)),
               trials};
}

void CutSearch::try_more() {
  while (!stop_.reached()) {
    const std::optional<Choice> choice = next_choice();
    if (!choice) return effort_ == Effort::kFast ? end() : improve_best();
    if (ask_for_rest(*choice, Effort::kFast)) return;
  }
  end();
}

void CutSearch::improve_best() {
  phase_ = Phase::kBest;
  if (best_ != Choice{} && ask_for_rest(best_, effort_)) return;
  plan_whole_again();
}

void CutSearch::plan_whole_again() {
  if (stop_.reached()) return end();
  phase_ = Phase::kWholeAgain;
  (void)ask_for_rest({}, effort_);
}

void CutSearch::end() {
  phase_ = Phase::kFinished;
  next_.reset();
}

std::vector<std::uint32_t> CutSearch::fix_tables(const Choice& choice) {
  std::vector<std::uint32_t> tables = required_;
  std::ranges::copy(replicas_.tables(choice.replicas), std::back_inserter(tables));
  std::ranges::sort(tables);
  fixed_ = {};
  fixed_.shards.resize(static_cast<std::size_t>(task_.devices));
  fixed_.replicas.assign(tables.begin(), tables.end());
  for (const std::uint32_t t : row_wise_.tables(choice.row_wise)) {
    if (std::ranges::binary_search(fixed_.replicas, static_cast<int>(t))) continue;
    const Table& table = task_.tables[t];
    const TableSlice slice{static_cast<int>(t), 0, table.dim, 0, table.rows};
    add_blocks(fixed_, task_, slice, 0, task_.devices);
    tables.push_back(t);
  }
  std::ranges::sort(tables);
  return tables;
}

std::int64_t CutSearch::fixed_bytes() const {
  return replicas_memory(task_, fixed_).total_bytes() + most_bytes_of_device(task_, fixed_);
}

bool CutSearch::ask_for_rest(const Choice& choice, Effort effort) {
  trial_ = choice;
  const std::vector<std::uint32_t> fixed = fix_tables(choice);
  if (fixed.empty() && choice.parts_share == 0.0) {
    next_ = Part{.task = &task_, .effort = effort, .whole = true};
    return true;
  }
  if (fixed.size() == task_.tables.size()) {
    consider(fixed_, most_ms_);
    return false;
  }
  const std::int64_t bytes = fixed_bytes();
  if (bytes >= std::ranges::min(rooms_bytes(task_))) return false;
  rest_ = task_without(task_, fixed, bytes);
  if (choice.parts_share > 0.0) {
    std::optional<PartialTask> cut =
        with_column_parts(backend_, rest_, choice.parts_share, equal_widths_);
    if (cut) {
      rest_ = *std::move(cut);
    } else if (fixed.empty()) {
      return false;
    } else {
      trial_.parts_share = 0.0;  // What is left has no use for it.
    }
  }
  next_ = Part{.task = &rest_.task, .effort = effort, .whole = false};
  return true;
}

void CutSearch::consider(Plan plan, double most_ms) {
  if (found_.consider(std::move(plan), most_ms)) best_ = trial_;
}

void CutSearch::consider_parts(const PlanResult& planned, double most_ms) {
  const auto consider_with = [&](const Plan& of_part) {
    if (next_->whole) return consider(of_part, most_ms);
    Plan plan = fixed_;
    add_part(plan, rest_, of_part);
    if (trial_.parts_share > 0.0 && !equal_widths_) {
      Plan joined = plan;
      join_column_parts(task_, rest_, joined);
      if (joined != plan) consider(std::move(joined), most_ms);
    }
    consider(std::move(plan), most_ms);
  };
  if (planned.plan) consider_with(*planned.plan);
  for (const CostedPlan& other : planned.alternatives) consider_with(other.plan);
}

void CutSearch::start_from(PlanResult planned) {
  if (required_.empty()) return found_.start_from(std::move(planned));
  if (planned.plan) return consider_parts(planned, kAnyCost);
  planned.cost.cost_ms = kAnyCost;
  if (stop_.reached()) {
    planned.infeasible = nothing_in_time(task_);
  } else {
    const std::int64_t bytes = fixed_bytes();
    const bool fit = bytes <= std::ranges::min(rooms_bytes(task_));
    planned.infeasible =
        no_room_beside(task_, required_, "replicated", fit ? std::optional(bytes) : std::nullopt);
  }
  found_.start_from(std::move(planned));
}

PlanResult CutSearch::finish() {
  PlanResult result = found_.take();
  result.stats = std::move(stats_);
  result.complete = complete_ && !(next_ || stop_.reached());
  return result;
}

}  // namespace neuroshard
