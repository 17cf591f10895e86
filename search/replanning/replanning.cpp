#include "search/replanning/replanning.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "search/canonical_task.h"
#include "search/improvement/annealing.h"
#include "search/infeasibility/infeasibility.h"
#include "search/parts/best_plans.h"
#include "search/replanning/kept_start.h"

namespace neuroshard {
namespace {

// A plan that is made anew moves most of all tables; below this share of them it is not looked for.
constexpr std::int64_t kLeastShareForNewPlan = 2;  // 1 / 2

constexpr std::size_t kReplanChains = 4;
constexpr std::uint64_t kFastReplanSteps = 4000;
constexpr std::uint64_t kDefaultReplanSteps = 60000;
constexpr std::uint64_t kThoroughReplanSteps = 500000;
constexpr double kWarmReplan = 3e-3;  // As AnnealingOptions::hottest.
constexpr double kHotReplan = 1e-2;
// Annealing counts the columns that a device keeps, not which ones; if more must be moved than it
// thought, it tries again with that much less.
constexpr int kReplanTries = 3;

std::uint64_t steps_of_replan_chain(Effort effort) {
  switch (effort) {
    case Effort::kFast:
      return kFastReplanSteps;
    case Effort::kDefault:
      return kDefaultReplanSteps;
    case Effort::kThorough:
      return kThoroughReplanSteps;
  }
  return kDefaultReplanSteps;
}

/// Of each table, a number for what devices hold of it: equal tables of which they hold the same
/// have the same.
std::vector<std::uint64_t> ranks_of_held(const Residency& residency) {
  using Held = std::vector<std::tuple<std::uint32_t, int, int>>;
  std::vector<Held> held(residency.tables());
  for (std::size_t t = 0; t < held.size(); ++t) {
    for (const Residency::Range& range : residency.of_table(t)) {
      held[t].emplace_back(range.device, range.first_column, range.dim);
    }
    if (const std::uint32_t replicas = residency.replicas(t)) held[t].emplace_back(replicas, 0, 0);
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

/// With its groups, but no bundles: what devices hold is known by tables. Equal tables are told
/// apart by that, too.
CanonicalTask canonical_without_bundles(const ReplanOrder& order) {
  const Task& task = order.task;
  std::vector<std::uint32_t> as_listed(task.tables.size());
  std::iota(as_listed.begin(), as_listed.end(), 0U);
  const std::vector<std::uint64_t> ranks =
      ranks_of_held(Residency(task, as_listed, order.running, order.running_tables));
  const std::vector<std::uint32_t> tables = canonical_order(task, ranks);
  if (task.groups.empty()) return {task, tables};
  Task ungrouped = task;
  ungrouped.groups.clear();
  CanonicalTask canonical(ungrouped, tables);
  std::vector<int> canonical_of(tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) canonical_of[tables[i]] = static_cast<int>(i);
  for (TableGroup& group : canonical.task.groups = task.groups) {
    for (int& table : group.tables) table = canonical_of[static_cast<std::size_t>(table)];
  }
  return canonical;
}

class Replanning {
 public:
  Replanning(const Backend& backend, const ReplanOrder& order);

  [[nodiscard]] Replanned run();

 private:
  /// A plan with what it moves.
  struct Candidate {
    Layout layout;
    PlanCost cost;
    std::vector<int> first_columns;
    std::vector<TableMove> moves;
    std::int64_t moved_bytes = 0;
    double charged_ms = 0.0;  ///< Cost, and price of the moves.
  };

  [[nodiscard]] Candidate candidate(Layout layout) const;
  /// A start of annealing, and perhaps the best, if it keeps to the budget.
  void consider(Candidate candidate);
  void add_kept_plans();
  void add_new_plan(Effort effort);
  void improve(Effort effort);
  [[nodiscard]] std::optional<Candidate> improved(const Layout& start, Effort effort,
                                                  std::size_t chain, SearchStats& stats) const;
  void count(const SearchStats& stats);

  const Backend& backend_;
  const ReplanOrder& order_;
  CanonicalTask canonical_;
  PieceCatalog catalog_;
  Residency residency_;
  std::int64_t most_moved_bytes_;
  double ms_per_byte_;
  std::vector<Candidate> starts_;
  std::optional<Candidate> best_;
  std::optional<std::int64_t> least_start_bytes_;
  ReplanResult result_;
};

Replanning::Replanning(const Backend& backend, const ReplanOrder& order)
    : backend_(backend),
      order_(order),
      canonical_(canonical_without_bundles(order)),
      catalog_(backend, canonical_.task),
      residency_(order.task, canonical_.original, order.running, order.running_tables),
      most_moved_bytes_(order.request.most_moved_bytes.value_or(kAnyBytes)),
      ms_per_byte_(order.request.ms_per_moved_gib / static_cast<double>(bytes_from_gib(1.0))) {
  catalog_.require_costs();
}

Replanning::Candidate Replanning::candidate(Layout layout) const {
  Candidate candidate;
  candidate.layout = std::move(layout);
  candidate.cost = cost_of(backend_, catalog_, canonical_.task, candidate.layout);
  candidate.first_columns = columns_to_keep(catalog_, candidate.layout, residency_);
  candidate.moves = moves_of(catalog_, candidate.layout, candidate.first_columns, residency_);
  candidate.moved_bytes = moved_bytes(candidate.moves);
  candidate.charged_ms =
      candidate.cost.cost_ms + ms_per_byte_ * static_cast<double>(candidate.moved_bytes);
  return candidate;
}

void Replanning::consider(Candidate candidate) {
  if (candidate.moved_bytes > most_moved_bytes_) return;
  if (!best_ || candidate.charged_ms < best_->charged_ms) best_ = candidate;
  starts_.push_back(std::move(candidate));
}

void Replanning::add_kept_plans() {
  std::vector<Candidate> kept;
  std::optional<Task> with_devices;
  if (!canonical_.task.groups.empty()) {
    with_devices = with_devices_that_hold_groups(catalog_, canonical_.task, residency_);
    if (!with_devices) return;
  }
  const Task& task = with_devices ? *with_devices : canonical_.task;
  for (Layout& layout : plans_that_keep_slices(catalog_, task, residency_)) {
    if (!kept.empty() && order_.stop.reached()) break;
    kept.push_back(candidate(std::move(layout)));
  }
  if (kept.empty()) return;
  const std::int64_t least =
      std::ranges::min_element(kept, {}, &Candidate::moved_bytes)->moved_bytes;
  least_start_bytes_ = least;
  if (!order_.request.most_moved_bytes && ms_per_byte_ == 0.0) {
    // Beyond what is on no device, somebody may have to give way to what has grown, and a device
    // that has been added is of use only if it gets something.
    const int added = order_.task.devices - (order_.running.task.devices -
                                             static_cast<int>(order_.running.lost_devices.size()));
    const std::int64_t wanted =
        std::max(least, residency_.total_bytes() / order_.task.devices * added);
    most_moved_bytes_ =
        with_unspent(wanted + (wanted + order_.moved_beside) / kShareOnTop, order_.request);
  }
  for (Candidate& one : kept) consider(std::move(one));
}

void Replanning::add_new_plan(Effort effort) {
  PlanResult anew = order_.plan_anew(effort);
  result_.result.complete = result_.result.complete && anew.complete;
  count(anew.stats);
  if (!anew.plan) {
    result_.result.infeasible = std::move(anew.infeasible);
    return;
  }
  std::vector<std::uint32_t> canonical_of(canonical_.original.size());
  for (std::uint32_t i = 0; i < canonical_of.size(); ++i) canonical_of[canonical_.original[i]] = i;
  Layout layout;
  const auto by_device = slices_by_device(*anew.plan);
  for (std::uint32_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      const std::uint32_t table = canonical_of[static_cast<std::size_t>(slice.table)];
      layout.push_back({catalog_.piece(table, slice.dim), table, device});
    }
  }
  Candidate start =
      candidate(renumbered_to_keep(catalog_, canonical_.task, std::move(layout), residency_));
  if (!least_start_bytes_) least_start_bytes_ = start.moved_bytes;
  consider(std::move(start));
}

std::optional<Replanning::Candidate> Replanning::improved(const Layout& start, Effort effort,
                                                          std::size_t chain,
                                                          SearchStats& stats) const {
  std::int64_t budget = most_moved_bytes_;
  for (int tried = 0; tried < kReplanTries && !order_.stop.reached(); ++tried) {
    const MoveCosts moves(residency_, budget, ms_per_byte_);
    Annealed annealed = anneal(backend_, catalog_, canonical_.task, start,
                               {.steps = steps_of_replan_chain(effort),
                                .stream = chain,
                                .hottest = chain == 0 ? kWarmReplan : kHotReplan,
                                .halves = chain % 2 == 0 ? Halves::kJoined : Halves::kKept,
                                .moves = &moves},
                               order_.stop);
    stats.edits += annealed.edits;
    stats.head_evaluations += annealed.head_evaluations;
    stats.comm_evaluations += annealed.comm_evaluations;
    sort_layout(annealed.layout);
    Candidate found = candidate(std::move(annealed.layout));
    if (found.moved_bytes <= most_moved_bytes_) return found;
    budget -= found.moved_bytes - most_moved_bytes_;
  }
  return std::nullopt;
}

// Each chain has random numbers of its own, so that what they find does not depend on which thread
// runs them.
void Replanning::improve(Effort effort) {
  std::vector<std::optional<Candidate>> found(kReplanChains);
  std::vector<SearchStats> stats(kReplanChains);
  const auto run_chain = [&](std::size_t chain, std::size_t) {
    found[chain] = improved(starts_[chain % starts_.size()].layout, effort, chain, stats[chain]);
  };
  if (order_.team != nullptr) {
    order_.team->run(kReplanChains, run_chain);
  } else {
    for (std::size_t chain = 0; chain < kReplanChains; ++chain) run_chain(chain, 0);
  }
  for (std::size_t chain = 0; chain < kReplanChains; ++chain) {
    count(stats[chain]);
    if (found[chain]) consider(*std::move(found[chain]));
  }
}

void Replanning::count(const SearchStats& stats) { add_work(result_.result.stats, stats); }

Replanned Replanning::run() {
  PlanResult& result = result_.result;
  result.infeasible = proof_by_memory(order_.task);
  if (!result.infeasible && residency_.least_bytes() <= most_moved_bytes_) {
    add_kept_plans();
    const bool much_may_move =
        most_moved_bytes_ >= residency_.total_bytes() / kLeastShareForNewPlan;
    for (const Effort effort : all_efforts()) {
      if (effort > order_.effort || (best_ && order_.stop.reached())) break;
      if (much_may_move || !best_) add_new_plan(effort);
      std::stable_sort(starts_.begin(), starts_.end(), [](const Candidate& a, const Candidate& b) {
        return a.charged_ms < b.charged_ms;
      });
      if (!starts_.empty() && order_.task.devices > 1) improve(effort);
    }
  }
  result.stats.backend = backend_.name();
  if (order_.stop.reached()) result.complete = false;
  if (!best_) {
    result.cost.cost_ms = std::numeric_limits<double>::infinity();
    return {std::move(result_), most_moved_bytes_, least_start_bytes_};
  }
  result.infeasible.reset();
  result.plan =
      plan_of(catalog_, order_.task, canonical_.original, best_->layout, best_->first_columns);
  result.cost = std::move(best_->cost);
  result_.moves = std::move(best_->moves);
  for (TableMove& move : result_.moves) {
    move.columns.table =
        static_cast<int>(canonical_.original[static_cast<std::size_t>(move.columns.table)]);
  }
  result_.moved_bytes = best_->moved_bytes;
  return {std::move(result_), most_moved_bytes_, least_start_bytes_};
}

}  // namespace

Replanned replan_task(const Backend& backend, const ReplanOrder& order) {
  return Replanning(backend, order).run();
}

}  // namespace neuroshard
