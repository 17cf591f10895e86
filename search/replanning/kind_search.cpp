#include "search/replanning/kind_search.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/message_text.h"
#include "core/table_rules.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "search/parts/best_plans.h"
#include "search/parts/cut_candidates.h"
#include "search/parts/even_blocks.h"
#include "search/replanning/kind_changes.h"
#include "search/residency.h"

namespace neuroshard {
namespace {

// Plans that are made anew with little effort, each without the replicas that the one before it had
// no bytes for.
constexpr int kRoundsOfFast = 3;

class KindSearch {
 public:
  KindSearch(const Backend& backend, const KindOrder& order);

  ReplanResult run();

 private:
  struct Best {
    ReplanResult result;
    WantedKinds wanted;
    double charged_ms;  ///< Cost, and price of the moves.
  };

  /// Plans the task with tables of these kinds, and keeps the plan if it is the best so far.
  void try_kinds(const WantedKinds& wanted, Effort effort);
  /// Where all tables are in `kept`.
  [[nodiscard]] Replanned nothing_beside(const KeptTables& kept) const;
  void consider(ReplanResult result, const WantedKinds& wanted);
  /// Throws Error that says why tables cannot stay as they run.
  [[noreturn]] void refuse(const KeptTables& kept) const;
  /// Tries the kinds that a plan made anew has, as many as the budget allows. Replicas that it does
  /// not allow, `within` then forbids. True: that is none.
  bool try_kinds_of_new_plan(Task& within, Effort effort);
  /// Those that move nothing more first; then those that save most for a byte.
  [[nodiscard]] std::vector<KindChange> by_gain(std::vector<KindChange> changes) const;
  /// Bytes that may be moved beyond what is if all tables stay as they run.
  [[nodiscard]] std::int64_t spare_bytes() const {
    if (*budget_ == kAnyBytes) return kAnyBytes;
    return std::max<std::int64_t>(0, *budget_ - must_move_bytes_);
  }

  const Backend& backend_;
  const KindOrder& order_;
  RunningKinds kinds_;
  /// All as they run; where rules let a table be neither so nor in columns, row-wise or replicated.
  WantedKinds as_they_run_;
  double ms_per_byte_;
  std::optional<std::int64_t> budget_;  ///< Nothing: the first plan says it.
  std::int64_t must_move_bytes_ = 0;
  std::optional<Best> best_;
  std::set<WantedKinds> tried_;
  SearchStats stats_;
  bool complete_ = true;
};

KindSearch::KindSearch(const Backend& backend, const KindOrder& order)
    : backend_(backend),
      order_(order),
      kinds_(order.task, order.running),
      as_they_run_(order.task.tables.size()),
      ms_per_byte_(order.request.ms_per_moved_gib / static_cast<double>(bytes_from_gib(1.0))),
      budget_(order.request.most_moved_bytes) {
  stats_.backend = backend.name();
  if (!order.replicas) return;
  for (std::uint32_t t = 0; t < as_they_run_.size(); ++t) {
    const Table& table = order.task.tables[t];
    if (may_be_in_columns(order.task, table) || !kinds_.kind(t)) continue;
    const bool row_wise = may_be_cut(order.task, table, order.task.devices);
    const bool replicated = may_be_sharded(order.task, table, ShardingKind::kReplicate);
    if (kinds_.kind(t) == ShardingKind::kReplicate && replicated) continue;
    if (row_wise || replicated) {
      as_they_run_[t] = row_wise ? ShardingKind::kRow : ShardingKind::kReplicate;
    }
  }
}

void KindSearch::refuse(const KeptTables& kept) const {
  if (!kept.has_room) {
    throw Error("the tables that the running plan replicates or cuts by rows need " +
                format_bytes(kept.device_bytes) + " on every device, but one has room for " +
                format_bytes(std::ranges::min(rooms_bytes(order_.task))) + "; plan the task anew");
  }
  throw Error("the move budget is " + format_bytes(*budget_) + ", but " +
              format_bytes(kept.moved_bytes) +
              " of replicated and row-wise tables are new or go to other devices; give at least "
              "as much");
}

void KindSearch::try_kinds(const WantedKinds& wanted, Effort effort) {
  const KeptTables kept = keep_tables(backend_, order_.task, order_.running, wanted);
  if (!best_) require_columns(order_.task, kept.fixed);
  if (!kept.has_room || (budget_ && kept.moved_bytes > *budget_)) {
    if (best_) return;
    refuse(kept);
  }
  RestRequest of_rest{
      .request = order_.request, .moved_beside = kept.moved_bytes, .effort = effort};
  if (budget_) {
    of_rest.request.most_moved_bytes =
        *budget_ == kAnyBytes ? kAnyBytes : *budget_ - kept.moved_bytes;
  }
  Replanned rest =
      kept.rest.tables.empty() ? nothing_beside(kept) : order_.replan_rest(kept, of_rest);
  if (!budget_) {
    budget_ =
        rest.most_moved_bytes == kAnyBytes ? kAnyBytes : rest.most_moved_bytes + kept.moved_bytes;
  }
  complete_ &= rest.result.result.complete;
  add_work(stats_, rest.result.result.stats);
  ReplanResult whole = with_kept_tables(backend_, order_.task, kept, std::move(rest.result));
  kinds_.recount_row_blocks(whole);
  consider(std::move(whole), wanted);
}

Replanned KindSearch::nothing_beside(const KeptTables& kept) const {
  Replanned none;
  none.result.result.plan.emplace().shards.resize(kept.fixed.shards.size());
  if (ms_per_byte_ == 0.0) none.most_moved_bytes = kept.moved_bytes / kShareOnTop;
  return none;
}

void KindSearch::consider(ReplanResult result, const WantedKinds& wanted) {
  const double charged_ms =
      result.result.cost.cost_ms + ms_per_byte_ * static_cast<double>(result.moved_bytes);
  if (best_ && (!result.result.plan || best_->charged_ms <= charged_ms)) return;
  best_ = Best{.result = std::move(result), .wanted = wanted, .charged_ms = charged_ms};
}

std::vector<KindChange> KindSearch::by_gain(std::vector<KindChange> changes) const {
  std::map<std::pair<std::uint32_t, ShardingKind>, double> net_ms;
  if (const PlanResult& best = best_->result.result; best.plan) {
    for (const CutCandidate& one : replica_candidates(backend_, order_.task, best.cost)) {
      net_ms[{one.table, ShardingKind::kReplicate}] = one.net_ms;
    }
    for (const CutCandidate& one :
         row_wise_candidates(backend_, order_.task, *best.plan, best.cost)) {
      net_ms[{one.table, ShardingKind::kRow}] = one.net_ms;
    }
  }
  std::ranges::stable_sort(changes, std::ranges::greater{}, [&](const KindChange& one) {
    return one.more_bytes <= 0
               ? std::numeric_limits<double>::infinity()
               : net_ms[{one.table, one.kind}] / static_cast<double>(one.more_bytes);
  });
  return changes;
}

bool KindSearch::try_kinds_of_new_plan(Task& within, Effort effort) {
  PlanResult anew = order_.plan_anew(within, effort);
  complete_ &= anew.complete;
  add_work(stats_, anew.stats);
  if (!anew.plan) return true;
  WantedKinds wanted = as_they_run_;
  // It takes a copy for each device to get a replica back, so that plans that drop many for little
  // are dearer after the next changes. More effort drops no others than little effort does.
  const auto stays = [&](std::uint32_t t) {
    return effort != Effort::kFast && kinds_.kind(t) == ShardingKind::kReplicate;
  };
  for (std::uint32_t t = 0; t < wanted.size(); ++t) {
    if (stays(t)) wanted[t] = best_->wanted[t];
  }
  std::int64_t left = spare_bytes();
  bool all = true;
  for (const KindChange& change : by_gain(kinds_.changes_to(*anew.plan))) {
    if (stays(change.table)) continue;
    if (change.more_bytes > left) {
      if (change.kind == ShardingKind::kReplicate) {
        forbid_replicas(order_.task, within.tables[change.table]);
        all = false;
      }
      continue;
    }
    if (left != kAnyBytes) left -= change.more_bytes;
    wanted[change.table] = change.kind;
  }
  if (tried_.insert(wanted).second) try_kinds(wanted, Effort::kFast);
  // Where all may move, it is a plan of its own.
  std::vector<TableMove> moves = kinds_.moves_to(*anew.plan);
  if (const std::int64_t bytes = moved_bytes(moves); bytes <= *budget_) {
    ReplanResult of_anew;
    of_anew.result = std::move(anew);
    of_anew.moves = std::move(moves);
    of_anew.moved_bytes = bytes;
    consider(std::move(of_anew), wanted);
  }
  return all;
}

ReplanResult KindSearch::run() {
  const bool any_kinds = order_.replicas && order_.task.devices > 1;
  tried_.insert(as_they_run_);
  try_kinds(as_they_run_, any_kinds ? Effort::kFast : order_.effort);
  must_move_bytes_ = best_->result.must_move_bytes;
  if (any_kinds && kinds_.any_change_within(spare_bytes())) {
    Task within = kinds_.task_within(spare_bytes());
    for (const Effort effort : all_efforts()) {
      const int rounds = effort == Effort::kFast ? kRoundsOfFast : 1;
      for (int round = 0; round < rounds && effort <= order_.effort; ++round) {
        if (order_.stop.reached() || try_kinds_of_new_plan(within, effort)) break;
      }
    }
  }
  if (any_kinds && order_.effort != Effort::kFast && !order_.stop.reached()) {
    try_kinds(WantedKinds(best_->wanted), order_.effort);
  }
  if (!best_->result.result.plan && *budget_ < must_move_bytes_) {
    throw Error("the move budget is " + format_bytes(*budget_) + ", but " +
                format_bytes(must_move_bytes_) +
                " are on no device that is left and must be moved; give at least as much");
  }
  ReplanResult result = std::move(best_->result);
  result.must_move_bytes = std::min(must_move_bytes_, result.moved_bytes);
  result.result.stats = std::move(stats_);
  result.result.complete = complete_ && !order_.stop.reached();
  return result;
}

}  // namespace

ReplanResult replan_kinds(const Backend& backend, const KindOrder& order) {
  return KindSearch(backend, order).run();
}

}  // namespace neuroshard
