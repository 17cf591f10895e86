#include "search/replanning/kind_search.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/tables/table_rules.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "search/parts/best_plans.h"
#include "search/parts/count_trials.h"
#include "search/parts/cut_candidates.h"
#include "search/replanning/first_kinds.h"
#include "search/replanning/kind_changes.h"
#include "search/replanning/move_budget.h"
#include "search/residency.h"

namespace neuroshard {
namespace {

// Plans that are made anew with little effort, each without the replicas that the one before it had
// no bytes for.
constexpr int kRoundsOfFast = 3;

// Other numbers of replicas that are planned with little effort, if not all is to be.
constexpr std::size_t kNumbersOfReplicas = 8;

// Kinds that are planned with all effort, the cheapest of those planned with little. What little
// effort says of them is off by some percent.
constexpr std::size_t kMostWithAllEffort = 3;

// It takes a copy for each device to get a replica back, and tables that are added later often find
// no bytes for theirs. So a plan that drops some that are dear to get back has to cost so much less
// than one that keeps them, and for each of them. With less, plans are dearer after ten changes;
// with more, after one.
constexpr double kLeastGainOfDrops = 0.02;
constexpr double kLeastGainOfDrop = 0.01;

// What a plan has to cost less than the best one within its budget, if it is to move more.
constexpr double kLeastGainOfSmallMoves = 0.01;

class KindSearch {
 public:
  KindSearch(const Backend& backend, const KindOrder& order);

  ReplanResult run();

 private:
  struct Best {
    ReplanResult result{};
    WantedKinds wanted;
    double judged_ms;
  };

  /// From the kinds that run to the best ones within the budget. If moves have a price, later
  /// changes have something left.
  void search(bool moves_have_price);
  /// The same, if no budget was given, with the small moves that are allowed beyond it.
  void search_with_small_moves();
  /// The first plan: of the kinds that run or, if there is none, of others near to these.
  void begin(Effort effort);
  void begin_without_plan();
  /// Plans the task with tables of these kinds, and keeps the plan if it is the best so far.
  /// Returns what has to be moved for them, by the slices that run; tables that leave row blocks
  /// are new ones.
  std::int64_t try_kinds(const WantedKinds& wanted, Effort effort);
  /// Throws Error if a larger budget would do.
  void refuse_without_plan();
  /// Where all tables are in `kept`.
  [[nodiscard]] Replanned nothing_beside(const KeptTables& kept) const;
  void consider(ReplanResult result, const WantedKinds& wanted);
  /// Plans the cheapest kinds so far again, with all effort.
  void try_cheapest_with_all_effort();
  /// Cost, and price of the moves, and what dropped replicas have to gain.
  [[nodiscard]] double judged_ms(const ReplanResult& result) const;
  /// Tables that run replicated and could stay so, but do not in `plan`, less those, the smallest
  /// first, that can be replicated again when any device is lost, by what may then be moved beyond
  /// what must.
  [[nodiscard]] int dropped_replicas(const Plan& plan) const;
  [[nodiscard]] bool has_plan() const { return best_ && best_->result.result.plan; }
  /// Tries the kinds that a plan made anew has, as many as the budget allows. Replicas that it does
  /// not allow, `within` then forbids. True: that is none.
  bool try_kinds_of_new_plan(Task& within, PlanResult anew);
  /// A plan made anew for `within`, which is the task under stricter rules.
  [[nodiscard]] PlanResult plan_anew(const Task& within, Effort effort);
  /// Tries other numbers of replicas than the best plan so far has, those that gain most.
  void try_numbers_of_replicas();
  /// Tables that may be replicated or in columns, whichever is cheaper, by falling gain of
  /// replicas.
  [[nodiscard]] std::vector<CutCandidate> free_to_be_replicas() const;
  /// The kinds of the best plan, but of `candidates` the first `count` are replicated and no
  /// others, as far as the budget lasts.
  [[nodiscard]] WantedKinds with_replicas(std::span<const CutCandidate> candidates,
                                          std::size_t count) const;
  [[nodiscard]] bool runs_replicated(std::uint32_t table) const {
    return kinds_.kind(table) == ShardingKind::kReplicate;
  }
  /// Whether the best plan so far is of kinds that replicate it.
  [[nodiscard]] bool is_replicated(std::uint32_t table) const {
    const std::optional<ShardingKind>& kind = best_->wanted[table];
    return kind ? *kind == ShardingKind::kReplicate : runs_replicated(table);
  }
  /// Those that move nothing more first; then those that save most for a byte.
  [[nodiscard]] std::vector<KindChange> by_gain(std::vector<KindChange> changes) const;

  const Backend& backend_;
  const KindOrder& order_;
  bool any_kinds_;
  RunningKinds kinds_;
  std::vector<WantedKinds> first_kinds_;
  WantedKinds as_they_run_;  ///< The first of these.
  MoveBudget budget_;
  std::optional<Best> best_;
  std::optional<PlanResult> anew_;  ///< For the task, with all effort.
  std::set<WantedKinds> tried_;
  std::vector<std::pair<double, WantedKinds>> with_little_effort_;  ///< What each was judged.
  SearchStats stats_;
  bool complete_ = true;
};

KindSearch::KindSearch(const Backend& backend, const KindOrder& order)
    : backend_(backend),
      order_(order),
      any_kinds_(order.replicas && order.task.devices > 1),
      kinds_(order.task, order.running),
      first_kinds_(first_kinds(order, kinds_)),
      as_they_run_(first_kinds_.front()),
      budget_(order.request) {
  stats_.backend = backend.name();
}

std::int64_t KindSearch::try_kinds(const WantedKinds& wanted, Effort effort) {
  const KeptTables kept = keep_tables(backend_, order_.task, order_.running, wanted);
  const std::int64_t least_bytes = kept.missing_bytes + kept.taken_for_new_bytes;
  if (!can_be_laid_out(order_.task, kept)) return least_bytes;
  if (budget_.bytes() && kept.moved_bytes > *budget_.bytes()) return least_bytes;
  RestRequest of_rest{
      .request = order_.request, .moved_beside = kept.moved_bytes, .effort = effort};
  if (budget_.bytes()) {
    of_rest.request.most_moved_bytes =
        budget_.is_any() ? kAnyBytes : *budget_.bytes() - kept.moved_bytes;
    of_rest.request.ms_per_moved_gib = budget_.ms_per_gib();
  }
  Replanned rest =
      kept.rest.tables.empty() ? nothing_beside(kept) : order_.replan_rest(kept, of_rest);
  if (!budget_.bytes() && rest.result.result.plan) {
    budget_.set_bytes(
        rest.most_moved_bytes == kAnyBytes ? kAnyBytes : rest.most_moved_bytes + kept.moved_bytes);
  }
  complete_ &= rest.result.result.complete;
  add_work(stats_, rest.result.result.stats);
  ReplanResult whole = with_kept_tables(backend_, order_.task, kept, std::move(rest.result));
  kinds_.recount_row_blocks(whole);
  if (whole.result.plan && effort == Effort::kFast) {
    with_little_effort_.emplace_back(judged_ms(whole), wanted);
  }
  consider(std::move(whole), wanted);
  return least_bytes;
}

Replanned KindSearch::nothing_beside(const KeptTables& kept) const {
  Replanned none;
  none.result.result.plan.emplace().shards.resize(kept.fixed.shards.size());
  if (budget_.ms_per_gib() == 0.0) {
    none.most_moved_bytes = with_unspent(kept.moved_bytes / kShareOnTop, order_.request);
  }
  return none;
}

int KindSearch::dropped_replicas(const Plan& plan) const {
  const std::int64_t devices = order_.task.devices;
  std::vector<std::int64_t> bytes_back;
  for (std::uint32_t t = 0; t < as_they_run_.size(); ++t) {
    if (runs_replicated(t) && !as_they_run_[t] &&
        std::ranges::find(plan.replicas, static_cast<int>(t)) == plan.replicas.end()) {
      bytes_back.push_back((devices - 1) *
                           std::min(order_.task.tables[t].size_bytes(), kMaxTaskBytes / devices));
    }
  }
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<TableSlice>& shard : slices_by_device(plan)) {
    std::int64_t bytes = 0;
    for (const TableSlice& slice : shard) bytes += slice_bytes(order_.task, slice);
    left = std::min(left, bytes / kShareOnTop);
  }
  std::ranges::sort(bytes_back);
  const auto dear = std::ranges::find_if(bytes_back, [&](std::int64_t bytes) {
    left -= bytes;
    return left < 0;
  });
  return static_cast<int>(bytes_back.end() - dear);
}

double KindSearch::judged_ms(const ReplanResult& result) const {
  const double ms = result.result.cost.cost_ms + budget_.price_ms(result.moved_bytes);
  if (!result.result.plan || budget_.is_any()) return ms;
  const int dropped = dropped_replicas(*result.result.plan);
  return dropped > 0 ? ms * (1.0 + kLeastGainOfDrops + kLeastGainOfDrop * dropped) : ms;
}

void KindSearch::consider(ReplanResult result, const WantedKinds& wanted) {
  const double judged = judged_ms(result);
  if (best_ && (!result.result.plan || best_->judged_ms <= judged)) return;
  best_ = Best{.result = std::move(result), .wanted = wanted, .judged_ms = judged};
}

std::vector<KindChange> KindSearch::by_gain(std::vector<KindChange> changes) const {
  std::map<std::pair<std::uint32_t, ShardingKind>, double> net_ms;
  if (const PlanResult& best = best_->result.result; best.plan) {
    for (const CutCandidate& one :
         replica_candidates(backend_, order_.task, *best.plan, best.cost)) {
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

PlanResult KindSearch::plan_anew(const Task& within, Effort effort) {
  PlanResult anew = order_.plan_anew(within, effort);
  complete_ &= anew.complete;
  add_work(stats_, anew.stats);
  return anew;
}

bool KindSearch::try_kinds_of_new_plan(Task& within, PlanResult anew) {
  if (!anew.plan) return true;
  WantedKinds wanted = as_they_run_;
  std::int64_t left = budget_.spare_bytes();
  bool all = true;
  for (const KindChange& change : by_gain(kinds_.changes_to(*anew.plan))) {
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
  if (const std::int64_t bytes = moved_bytes(moves); bytes <= *budget_.bytes()) {
    ReplanResult of_anew;
    of_anew.result = std::move(anew);
    of_anew.moves = std::move(moves);
    of_anew.moved_bytes = bytes;
    consider(std::move(of_anew), wanted);
  }
  return all;
}

std::vector<CutCandidate> KindSearch::free_to_be_replicas() const {
  std::vector<CutCandidate> candidates = replica_candidates(
      backend_, order_.task, *best_->result.result.plan, best_->result.result.cost);
  std::erase_if(candidates, [&](const CutCandidate& one) {
    const std::uint32_t t = one.table;
    if (!kinds_.kind(t) || !may_be_in_columns(order_.task, order_.task.tables[t])) return true;
    if (is_replicated(t) || runs_replicated(t)) return false;
    return kinds_.kind(t) == ShardingKind::kRow || best_->wanted[t] == ShardingKind::kRow ||
           kinds_.change(t, ShardingKind::kReplicate).more_bytes > budget_.spare_bytes();
  });
  return candidates;
}

WantedKinds KindSearch::with_replicas(std::span<const CutCandidate> candidates,
                                      std::size_t count) const {
  WantedKinds wanted = best_->wanted;
  for (const CutCandidate& one : candidates) wanted[one.table] = ShardingKind::kColumn;
  std::int64_t left = budget_.spare_bytes();
  for (std::uint32_t t = 0; t < wanted.size(); ++t) {
    if (wanted[t] && left != kAnyBytes) left -= kinds_.change(t, *wanted[t]).more_bytes;
  }
  for (const CutCandidate& one : candidates.first(count)) {
    const std::int64_t more_bytes = kinds_.change(one.table, ShardingKind::kReplicate).more_bytes;
    if (more_bytes > left) continue;
    if (left != kAnyBytes) left -= more_bytes;
    wanted[one.table] = ShardingKind::kReplicate;
  }
  // Kinds that are tried once are told apart by this.
  for (const CutCandidate& one : candidates) {
    if (wanted[one.table] == kinds_.kind(one.table)) wanted[one.table] = as_they_run_[one.table];
  }
  return wanted;
}

void KindSearch::try_numbers_of_replicas() {
  const std::vector<CutCandidate> candidates = free_to_be_replicas();
  CountTrials trials(candidates, kNumbersOfReplicas);
  trials.start_from(static_cast<std::size_t>(std::ranges::count_if(
      candidates, [&](const CutCandidate& one) { return is_replicated(one.table); })));
  while (const std::optional<std::size_t> count = trials.next()) {
    if (order_.stop.reached()) return;
    const WantedKinds wanted = with_replicas(candidates, *count);
    if (!tried_.insert(wanted).second) continue;
    const double before_ms = best_->judged_ms;
    try_kinds(wanted, Effort::kFast);
    if (best_->judged_ms < before_ms) trials.last_is_best();
  }
}

void KindSearch::begin_without_plan() {
  best_ = Best{.wanted = as_they_run_, .judged_ms = std::numeric_limits<double>::infinity()};
}

void KindSearch::begin(Effort effort) {
  for (const WantedKinds& kinds : first_kinds_) {
    tried_.insert(kinds);
    budget_.set_least_bytes(try_kinds(kinds, effort));
    if (has_plan()) return;
  }
  // Of any kinds, then, and moving anything if no budget was given.
  budget_.set_least_bytes(kinds_.least_bytes());
  if (!budget_.bytes()) budget_.set_bytes(kAnyBytes);
  if (!best_) begin_without_plan();
  anew_ = plan_anew(order_.task, order_.effort);
  if (!anew_->plan) best_->result.result = *anew_;
  Task any = order_.task;
  try_kinds_of_new_plan(any, *anew_);
}

void KindSearch::search(bool moves_have_price) {
  tried_.clear();
  with_little_effort_.clear();
  begin(any_kinds_ || moves_have_price ? Effort::kFast : order_.effort);
  if (!has_plan()) return;
  if (moves_have_price) {
    budget_.price_moves(best_->result.result.cost.cost_ms);
    best_->judged_ms += budget_.price_ms(best_->result.moved_bytes);
    with_little_effort_.assign(1, {best_->judged_ms, best_->wanted});
  }
  if (any_kinds_ && kinds_.any_change_within(budget_.spare_bytes())) {
    // A plan that is made anew may have replicas that the budget has no bytes for: it says which
    // ones to keep. Beside columns that take their place, others may suit.
    if (order_.effort != Effort::kFast) {
      if (!anew_) anew_ = plan_anew(order_.task, order_.effort);
      Task any = order_.task;
      try_kinds_of_new_plan(any, *anew_);
    }
    Task within = kinds_.task_within(budget_.spare_bytes());
    for (int round = 0; round < kRoundsOfFast; ++round) {
      if (order_.stop.reached()) break;
      if (try_kinds_of_new_plan(within, plan_anew(within, Effort::kFast))) break;
    }
    if (order_.effort != Effort::kFast) try_numbers_of_replicas();
  }
  if ((moves_have_price || (any_kinds_ && order_.effort != Effort::kFast)) &&
      !order_.stop.reached()) {
    try_cheapest_with_all_effort();
  }
}

void KindSearch::try_cheapest_with_all_effort() {
  std::vector<WantedKinds> cheapest{best_->wanted};
  if (order_.effort != Effort::kFast) {
    std::ranges::stable_sort(with_little_effort_, {}, &std::pair<double, WantedKinds>::first);
    for (const auto& [ms, wanted] : with_little_effort_) {
      if (cheapest.size() == kMostWithAllEffort) break;
      if (wanted != cheapest.front()) cheapest.push_back(wanted);
    }
  }
  for (const WantedKinds& wanted : cheapest) {
    if (order_.stop.reached()) return;
    try_kinds(wanted, order_.effort);
  }
}

void KindSearch::search_with_small_moves() {
  const ReplanRequest& request = order_.request;
  if (request.most_moved_bytes || request.ms_per_moved_gib > 0.0 || budget_.least_bytes() == 0 ||
      !has_plan() || order_.stop.reached()) {
    return;
  }
  const std::int64_t more_bytes = small_moves_bytes(request, order_.running, order_.task.devices);
  if (more_bytes <= budget_.spare_bytes()) return;
  const auto cost_ms = [&] {  // Without the price of moves.
    return best_->judged_ms - budget_.price_ms(best_->result.moved_bytes);
  };
  const auto is_gain = [within_ms = cost_ms()](double ms) {
    return ms * (1.0 + kLeastGainOfSmallMoves) <= within_ms;
  };
  if (!(anew_ && anew_->plan && kinds_.more_bytes(*anew_->plan) <= more_bytes &&
        is_gain(anew_->cost.cost_ms))) {
    const PlanResult anew = plan_anew(kinds_.task_within(more_bytes), Effort::kFast);
    if (!anew.plan || !is_gain(anew.cost.cost_ms)) return;
  }
  const std::int64_t own_bytes = *budget_.bytes();
  budget_.set_bytes(budget_.least_bytes() + more_bytes);
  budget_.make_moves_free();
  std::optional<Best> within = std::exchange(best_, std::nullopt);
  search(true);
  if (!has_plan() || !is_gain(cost_ms())) best_ = std::move(within);
  budget_.set_bytes(own_bytes);
}

void KindSearch::refuse_without_plan() {
  if (order_.request.most_moved_bytes) {
    std::optional<std::int64_t> least = least_moves(backend_, order_, first_kinds_);
    if (anew_->plan) {
      least = std::min(least.value_or(kAnyBytes), moved_bytes(kinds_.moves_to(*anew_->plan)));
    }
    if (least) throw budget_.too_small(*least);
  }
}

ReplanResult KindSearch::run() {
  search(order_.request.unspent_bytes.has_value());
  search_with_small_moves();
  if (!has_plan()) refuse_without_plan();
  ReplanResult result = std::move(best_->result);
  result.unspent_bytes = budget_.unspent_bytes(result.moved_bytes);
  const KeptTables kept = keep_tables(backend_, order_.task, order_.running, as_they_run_);
  result.must_move_bytes = kept.missing_bytes;
  for (const std::uint32_t t : kept.out_of_blocks) {
    result.must_move_bytes += kinds_.bytes_out_of_blocks(t);
  }
  result.result.stats = std::move(stats_);
  result.result.complete = complete_ && !order_.stop.reached();
  return result;
}

}  // namespace

ReplanResult replan_kinds(const Backend& backend, const KindOrder& order) {
  return KindSearch(backend, order).run();
}

}  // namespace neuroshard
