#include "search/replanning/replanning.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/tables/table_rules.h"
#include "neuroshard/simulator.h"
#include "search/canonical_task.h"
#include "search/engine/best_plans.h"
#include "search/engine/portfolio.h"
#include "search/replanning/carried_start.h"
#include "search/replanning/carried_tables.h"
#include "search/replanning/move_budget.h"
#include "search/state/moved_bytes.h"
#include "search/state/ways.h"

namespace neuroshard {
namespace {

// A plan that is made anew moves much of all tables; below these shares of them it is not looked
// for. Where bytes are stated, plans within more of them should not be dearer.
constexpr std::int64_t kLeastShareForNewPlan = 2;        // 1 / 2
constexpr std::int64_t kLeastStatedShareForNewPlan = 8;  // 1 / 8

// It takes a copy for each device to get a replica back, and tables that are added later often find
// no bytes for theirs. So a plan that drops some that are dear to get back has to cost so much less
// than one that keeps them, and for each of them. With less, plans are dearer after ten changes;
// with more, after one.
constexpr double kLeastGainOfDrops = 0.02;
constexpr double kLeastGainOfDrop = 0.01;

// Where plans are to move less, all that is moved weighs so many times their cost.
constexpr double kFewerMovesFirst = 10.0;

// Where plans lack room, moving one of so many parts of all tables weighs as much, if it is more.
constexpr std::int64_t kPartsForRoom = 16;

// A plan has to cost so much less than the best one within its budget, if it is to move more; and
// if it moves all that it may.
constexpr double kLeastGainOfSmallMoves = 0.01;
constexpr double kLeastGainOfAllSmallMoves = 0.05;

/// [tables]: a number for what devices hold of each: equal tables of which they hold the same have
/// the same.
std::vector<std::uint64_t> ranks_of_held(const RunningHolders& holders) {
  using Held = std::vector<std::tuple<std::int64_t, int, int, std::int64_t, std::int64_t>>;
  std::vector<Held> held(holders.task().tables.size());
  for (std::size_t t = 0; t < held.size(); ++t) {
    for (const RunningSlice& one : holders.slices(t)) {
      const TableSlice& slice = one.slice;
      held[t].emplace_back(one.device ? static_cast<std::int64_t>(*one.device) : -1,
                           slice.first_column, slice.dim, slice.first_row, slice.rows);
    }
    if (holders.is_replicated(t)) held[t].emplace_back(-2, 0, 0, 0, 0);
    if (holders.before(t)) held[t].emplace_back(-3, 0, 0, 0, holders.kept_rows(t));
  }
  std::vector<Held> kinds = held;
  std::ranges::sort(kinds);
  std::vector<std::uint64_t> ranks;
  ranks.reserve(held.size());
  for (const Held& one : held) {
    ranks.push_back(
        static_cast<std::uint64_t>(std::ranges::lower_bound(kinds, one) - kinds.begin()));
  }
  return ranks;
}

class Replanning {
 public:
  Replanning(const Backend& backend, const ReplanOrder& order);

  [[nodiscard]] ReplanResult run();

 private:
  /// A plan with what it moves.
  struct Candidate {
    Plan plan;
    PlanCost cost;
    std::int64_t moved_bytes = 0;
  };
  using Candidates = std::vector<Candidate>;

  /// Plans that carry tables over, until some are within the budget.
  void begin();
  /// Plans that carry tables over to these ways. Whether one is within the budget.
  [[nodiscard]] bool carry(const CarryOptions& options);
  /// Tables that the running plan deduplicates, as far as `plan` may.
  [[nodiscard]] std::vector<int> still_deduplicated(const Plan& plan) const;
  [[nodiscard]] std::int64_t default_budget() const;
  /// From what is known, within so many bytes.
  void search_within(std::int64_t bytes);
  void search();
  void search_with_small_moves();
  [[nodiscard]] PlanResult plan_anew(Effort effort) const;
  void add_new_plan(Effort effort);
  /// A start, and perhaps the best, if it keeps to the budget.
  void add_start(Candidate start);
  void add_plans_of_fewer_moves(const Candidates& from);
  void improve(Candidates starts, Effort effort, const std::function<void(Plan)>& consider);
  void consider(const Candidate& candidate);
  [[nodiscard]] Candidate candidate(Plan plan) const;
  /// Cost, price of the moves, and what dropped replicas have to gain.
  [[nodiscard]] double charged_ms(const Candidate& candidate) const;
  [[nodiscard]] static const Candidate& least_moved(const Candidates& all) {
    return *std::ranges::min_element(all, {}, &Candidate::moved_bytes);
  }
  /// By the budget and a plan of this cost.
  void set_terms(const Candidate& near);

  const Backend& backend_;
  const ReplanOrder& order_;
  RunningHolders holders_;
  std::vector<std::uint64_t> ranks_;
  BundledTask canonical_;
  MoveBudget budget_;
  std::vector<RunningReplica> replicas_;
  MoveTerms terms_;
  WayOptions ways_;
  std::vector<WayOptions::OfTable> of_tables_;
  CarriedStart near_;
  std::vector<Plan> carried_;  ///< Whether they have room or not.
  Candidates known_;           ///< They have room, whatever they move.
  Candidates starts_;          ///< Within the budget.
  std::optional<Candidate> best_;
  std::optional<PlanResult> anew_;  ///< The last one.
  std::int64_t must_move_bytes_ = 0;
  SearchStats stats_;
  bool complete_ = true;
};

Replanning::Replanning(const Backend& backend, const ReplanOrder& order)
    : backend_(backend),
      order_(order),
      holders_(order.task, order.running, order.before),
      ranks_(ranks_of_held(holders_)),
      canonical_(order.task, canonical_order(order.task, ranks_)),
      budget_(order.request),
      terms_{.holders = holders_},
      ways_(order.ways),
      of_tables_(order.task.tables.size()),
      near_{.backend = backend,
            .canonical = canonical_,
            .ways = ways_,
            .moves = terms_,
            .stop = order.stop} {
  stats_.backend = backend.name();
  ways_.of_tables = of_tables_;
  const Task& task = order.task;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (!holders_.is_replicated(t) ||
        !may_be_sharded(task, task.tables[t], ShardingKind::kReplicate)) {
      continue;
    }
    const std::int64_t bytes = std::min(task.tables[t].size_bytes(), kMaxTaskBytes / task.devices);
    replicas_.push_back({(task.devices - 1) * bytes, t});
  }
  std::ranges::sort(replicas_, {},
                    [](const RunningReplica& one) { return std::pair(one.bytes_back, one.table); });
  for (const CarriedTable& table : carried_tables(holders_, {})) {
    must_move_bytes_ += std::min(table.moved_bytes, kMaxTaskBytes - must_move_bytes_);
  }
}

Replanning::Candidate Replanning::candidate(Plan plan) const {
  PlanCost cost = simulate(backend_, order_.task, plan);
  const std::int64_t bytes = moved_bytes(holders_.moves_to(plan));
  return {.plan = std::move(plan), .cost = std::move(cost), .moved_bytes = bytes};
}

double Replanning::charged_ms(const Candidate& candidate) const {
  const std::vector<int>& replicas = candidate.plan.replicas;
  return candidate.cost.slowest_ms() +
         terms_.charge_ms(candidate.moved_bytes, [&](std::uint32_t t) {
           return std::ranges::binary_search(replicas, static_cast<int>(t));
         });
}

void Replanning::consider(const Candidate& candidate) {
  if (candidate.moved_bytes > terms_.most_moved_bytes || !candidate.cost.fits_memory) return;
  if (!best_ || charged_ms(candidate) < charged_ms(*best_)) best_ = candidate;
}

void Replanning::add_start(Candidate start) {
  consider(start);
  if (start.moved_bytes <= terms_.most_moved_bytes) starts_.push_back(std::move(start));
}

void Replanning::set_terms(const Candidate& near) {
  terms_.most_moved_bytes = *budget_.bytes;
  terms_.ms_per_byte = budget_.ms_per_byte;
  if (!budget_.is_any()) {
    terms_.replicas = replicas_;
    terms_.ms_of_drops = kLeastGainOfDrops * near.cost.slowest_ms();
    terms_.ms_of_drop = kLeastGainOfDrop * near.cost.slowest_ms();
    const std::int64_t least_bytes =
        std::ranges::min(near.cost.devices, {}, &DeviceCost::memory_bytes).memory_bytes -
        replicas_memory(order_.task, near.plan).total_bytes();
    terms_.free_drops_bytes = least_bytes / kShareOnTop;
  }
}

// ------------------------------------------------------------------------------------ starts

bool Replanning::carry(const CarryOptions& options) {
  const std::vector<CarriedTable> tables = carried_tables(holders_, options);
  of_tables_.assign(of_tables_.size(), {});
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (!tables[t].way && tables[t].in_place.empty()) return false;
    // Where the planner has no other ways, tables that run in some keep them.
    of_tables_[t].any_widths = tables[t].odd_widths;
    const bool other = tables[t].way && tables[t].way != Way::kDevice;
    if (other && !order_.ways.replicas) of_tables_[t].only = tables[t].way;
  }
  Candidates lack_room;
  const std::size_t known = known_.size();
  for (Plan& plan : near_.plans(tables)) {
    plan.deduplicated = still_deduplicated(plan);
    if (std::ranges::find(carried_, plan) != carried_.end()) continue;
    carried_.push_back(plan);
    Candidate one = candidate(std::move(plan));
    (one.cost.fits_memory ? known_ : lack_room).push_back(std::move(one));
  }
  if (!lack_room.empty() && known_.size() == known) add_plans_of_fewer_moves(lack_room);
  if (known_.empty()) return false;
  const std::int64_t least_bytes = least_moved(known_).moved_bytes;
  const bool as_they_run = options.keep_blocks && options.keep_replicas;
  budget_.least_bytes = as_they_run ? must_move_bytes_ : least_bytes;
  if (!budget_.bytes) budget_.set(default_budget());
  return least_bytes <= *budget_.bytes;
}

void Replanning::begin() {
  CarryOptions options{.ways = order_.ways};
  bool found = carry(options);
  options.keep_blocks = false;
  if (!found) found = carry(options);
  options.keep_replicas = false;
  if (!found) found = carry(options);
  if (!found && !known_.empty()) add_plans_of_fewer_moves(known_);
  if (!budget_.bytes) budget_.bytes = kAnyBytes;
}

std::vector<int> Replanning::still_deduplicated(const Plan& plan) const {
  std::vector<int> tables;
  for (std::size_t t = 0; t < order_.task.tables.size(); ++t) {
    const std::optional<std::size_t> before = holders_.before(t);
    const int table = static_cast<int>(t);
    const bool was = before && std::ranges::binary_search(order_.running.plan.deduplicated,
                                                          static_cast<int>(*before));
    if (was && may_be_deduplicated(order_.task, order_.task.tables[t]) &&
        !std::ranges::binary_search(plan.replicas, table)) {
      tables.push_back(table);
    }
  }
  return tables;
}

// Beyond what is on no device, something may have to give way to what has grown, and a device that
// has been added is of use only if it gets something.
std::int64_t Replanning::default_budget() const {
  const int added = order_.task.devices - holders_.places().devices_left;
  const std::int64_t wanted = std::max(least_moved(known_).moved_bytes,
                                       holders_.total_bytes() / order_.task.devices * added);
  return wanted + wanted / kShareOnTop;
}

// Equal tables are told apart by what devices hold of them, and not by how they are listed.
PlanResult Replanning::plan_anew(Effort effort) const {
  const Task& listed = order_.task;
  const std::vector<std::uint32_t> order = canonical_order(listed, ranks_);
  Task ordered = listed;
  std::vector<int> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ordered.tables[i] = listed.tables[order[i]];
    place[order[i]] = static_cast<int>(i);
  }
  for (TableGroup& group : ordered.groups) {
    for (int& table : group.tables) table = place[static_cast<std::size_t>(table)];
  }
  PlanResult anew = order_.plan_anew(ordered, effort);
  if (!anew.plan) return order_.plan_anew(listed, effort);  // The reason names tables.
  for (TableSlice& slice : anew.plan->slices) {
    slice.table = static_cast<int>(order[static_cast<std::size_t>(slice.table)]);
  }
  anew.plan->replicas = renumbered(anew.plan->replicas, order);
  anew.plan->deduplicated = renumbered(anew.plan->deduplicated, order);
  return anew;
}

void Replanning::add_new_plan(Effort effort) {
  anew_ = plan_anew(effort);
  complete_ = complete_ && anew_->complete;
  add_work(stats_, anew_->stats);
  if (!anew_->plan) return;
  consider(candidate(*anew_->plan));
  Candidates starts;
  for (Plan& plan : near_.kept(*anew_->plan)) starts.push_back(candidate(std::move(plan)));
  known_.insert(known_.end(), starts.begin(), starts.end());
  const auto is_within = [&](const Candidate& one) {
    return one.moved_bytes <= terms_.most_moved_bytes;
  };
  if (!best_ && std::ranges::none_of(starts, is_within)) {
    add_plans_of_fewer_moves(starts);
    starts = known_;
  }
  for (Candidate& start : starts) add_start(std::move(start));
}

// ------------------------------------------------------------------------------------ search

// Where plans move more than they may, or lack room, others that cost more may do with less.
void Replanning::add_plans_of_fewer_moves(const Candidates& from) {
  const Candidate& least = least_moved(from);
  const std::int64_t bytes = std::max<std::int64_t>(
      least.moved_bytes, least.cost.fits_memory ? 1 : holders_.total_bytes() / kPartsForRoom);
  const std::int64_t most_moved_bytes = std::exchange(terms_.most_moved_bytes, kAnyBytes);
  const double ms_per_byte =
      std::exchange(terms_.ms_per_byte, kFewerMovesFirst * std::abs(least.cost.slowest_ms()) /
                                            static_cast<double>(std::max<std::int64_t>(1, bytes)));
  improve({least}, Effort::kFast, [&](Plan plan) { known_.push_back(candidate(std::move(plan))); });
  terms_.most_moved_bytes = most_moved_bytes;
  terms_.ms_per_byte = ms_per_byte;
}

void Replanning::improve(Candidates starts, Effort effort,
                         const std::function<void(Plan)>& consider) {
  if (starts.empty()) return;
  std::ranges::stable_sort(starts, {}, [&](const Candidate& one) { return charged_ms(one); });
  std::vector<Plan> plans;
  for (Candidate& start : starts) plans.push_back(std::move(start.plan));
  std::optional<ThreadTeam::Lease> lease;
  if (order_.team != nullptr) lease = order_.team->try_lease();
  const Portfolio portfolio{.backend = backend_,
                            .task = order_.task,
                            .ways = ways_,
                            .effort = effort,
                            .stop = order_.stop,
                            .team = lease ? &*lease : nullptr,
                            .moves = &terms_,
                            .ranks = ranks_};
  portfolio.improve(plans, consider, stats_);
}

void Replanning::search() {
  const auto consider_plan = [&](Plan plan) { consider(candidate(std::move(plan))); };
  improve(starts_, order_.effort, consider_plan);
  // A planner that has no other ways than columns leaves tables in those that they run in.
  const bool keeps_ways = std::ranges::any_of(
      of_tables_, [](const WayOptions::OfTable& one) { return one.only.has_value(); });
  const std::int64_t share =
      order_.request.most_moved_bytes ? kLeastStatedShareForNewPlan : kLeastShareForNewPlan;
  const bool much_may_move =
      !keeps_ways && terms_.most_moved_bytes >= holders_.total_bytes() / share;
  for (const Effort effort : all_efforts()) {
    if (effort > order_.effort || (best_ && (order_.stop.reached() || !much_may_move))) break;
    starts_.clear();
    add_new_plan(effort);
    if (!anew_->plan) break;
    improve(starts_, effort, consider_plan);
  }
}

void Replanning::search_within(std::int64_t bytes) {
  terms_.most_moved_bytes = bytes;
  starts_.clear();
  if (best_) starts_.push_back(*best_);
  for (const Candidate& one : known_) add_start(one);
  search();
}

void Replanning::search_with_small_moves() {
  const ReplanRequest& request = order_.request;
  if (!best_ || request.most_moved_bytes || request.ms_per_moved_gib > 0.0 ||
      budget_.least_bytes == 0 || order_.task.devices < 2 || order_.stop.reached()) {
    return;
  }
  const std::int64_t more_bytes =
      small_moves_bytes(request, order_.running, order_.running_cost, order_.task.devices);
  if (more_bytes <= budget_.spare_bytes()) return;
  const std::int64_t own_bytes = *budget_.bytes;
  const Candidate within = *best_;
  budget_.bytes = budget_.least_bytes + more_bytes;
  budget_.price_moves(within.cost.slowest_ms(), kLeastGainOfAllSmallMoves);
  set_terms(within);
  search_within(*budget_.bytes);
  budget_.bytes = own_bytes;
  if (best_->cost.slowest_ms() * (1.0 + kLeastGainOfSmallMoves) > within.cost.slowest_ms())
    best_ = within;
}

ReplanResult Replanning::run() {
  begin();
  if (!known_.empty()) {
    const Candidate& cheapest = *std::ranges::min_element(
        known_, {}, [](const Candidate& one) { return one.cost.slowest_ms(); });
    if (order_.request.unspent_bytes) budget_.price_moves(cheapest.cost.slowest_ms());
    set_terms(cheapest);
  }
  // The best plan within less is a start within more, so that more seldom costs more.
  if (order_.request.most_moved_bytes && !known_.empty() && default_budget() < *budget_.bytes) {
    search_within(default_budget());
  }
  search_within(*budget_.bytes);
  search_with_small_moves();
  if (!best_ && order_.request.most_moved_bytes && !known_.empty()) {
    throw budget_.too_small(least_moved(known_).moved_bytes);
  }
  ReplanResult result;
  result.running_cost = order_.running_cost;
  result.must_move_bytes = must_move_bytes_;
  result.result.stats = std::move(stats_);
  result.result.complete = complete_ && !order_.stop.reached();
  if (!best_) {
    result.result.infeasible = std::move(anew_->infeasible);
    return result;
  }
  result.moves = holders_.moves_to(best_->plan);
  result.moved_bytes = best_->moved_bytes;
  result.unspent_bytes = budget_.unspent_bytes(result.moved_bytes);
  result.result.plan = std::move(best_->plan);
  result.result.cost = std::move(best_->cost);
  return result;
}

}  // namespace

ReplanResult replan_near(const Backend& backend, const ReplanOrder& order) {
  return Replanning(backend, order).run();
}

}  // namespace neuroshard
