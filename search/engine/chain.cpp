#include "search/engine/chain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/tables/natural_log.h"
#include "search/starts/way_ladder.h"
#include "search/state/plan_limits.h"

namespace neuroshard {
namespace {

constexpr std::uint64_t kSettle = 1000;        // Edits after a rebuild,
constexpr std::uint64_t kSettleOfDevice = 60;  // and for each device,
constexpr std::uint64_t kMostDevices = 64;     // up to so many;
constexpr std::uint64_t kLeastSettle = 40;     // and no more than these,
constexpr std::uint64_t kSettleOfSlice = 200;  // and these for each slice that can be moved.
constexpr double kHottest = 0.003;             // First temperature, a share of the cost.
constexpr double kSpread = 3.0;                // Lengths and temperatures differ by so much.
constexpr double kGiveUp = 1.05;               // A third of it done, and dearer by so much.
// By how much a rebuild may be dearer and still be kept, at first; half of it after so many edits.
constexpr double kSlack = 0.002;
constexpr double kHalfSlackAfter = 50000.0;
constexpr std::size_t kMostOfBatch = 12;
constexpr double kBatchOfShare = 0.5;      // Edits of a batch, over one in how many is accepted.
constexpr double kNewShare = 0.05;         // Weight of a batch in the mean of accepted ones.
constexpr std::uint64_t kLookAfter = 256;  // Edits between looks at the stop condition.
constexpr double kBetter = 1e-7;           // Estimates are no more exact than that.
// All slices are placed anew only if that takes no longer than settling so many times.
constexpr std::size_t kAllAnewOfSettling = 1;

// Bytes that do not fit cost so many times as much where a plan has settled and still lacks room.
constexpr std::array kTimesForRoom = {4.0, 16.0};

// A plan made anew moves most of all tables; where less than one of so many parts may be moved, all
// are not placed anew.
constexpr std::int64_t kShareForNewPlan = 2;

constexpr std::size_t kNumbersThatSettle = 4;  // Of replicas.

constexpr std::size_t kTablesOfWays = 32;
constexpr double kWorstWay = 1.15;  // Over the current plan's cost, before it settles.

// Heads of placements that take as long as an edit.
constexpr std::size_t kHeadsOfEdit = 12;

// Rungs of a WayLadder that are placed, under these limits of columns.
constexpr std::size_t kFewestRungs = 3;
constexpr std::size_t kMostRungs = 32;
constexpr std::size_t kPlacesOfRungs = 200'000;  // Tables times devices, of all.
constexpr std::array kSharesOfColumns = {1.03, 1e12};
constexpr double kWorstRung = 1.3;  // Over the current plan's cost.

}  // namespace

Chain::Chain(const Backend& backend, const BundledTask& bundled, const WayOptions& options,
             const Plan& start, const Order& order, const StopCondition& stop)
    : catalog_(backend, bundled),
      ways_(catalog_, bundled, options),
      moved_(order.moves == nullptr
                 ? std::nullopt
                 : std::optional<MovedBytes>(std::in_place, *order.moves, bundled, ways_)),
      state_(catalog_, ways_, start, moved_ ? &*moved_ : nullptr, stop),
      prices_(state_),
      edit_prices_(prices_),
      order_(order),
      random_(0, order.number),
      moves_(state_, prices_, random_),
      rebuild_(state_, prices_, random_),
      neighbourhoods_(state_, prices_, random_),
      batch_(kMostOfBatch),
      limits_ms_(kMostOfBatch) {
  if (state_.tables().empty()) return;
  prices_.price_state();
  if (!state_.is_whole()) return;
  if (state_.sums.missing_bytes == 0) best_ms_ = current_ms_ = state_.sums.cost_ms;
}

void Chain::begin_edits() {
  state_.begin_undo();
  before_ = state_.sums;
}

double Chain::rung_ms() const {
  return state_.sums.cost_ms + prices_.memory_ms(state_.sums.missing_bytes, state_.sums.cost_ms);
}

bool Chain::apply_rebuilt() {
  prices_.apply(rebuild_.edit());
  if (limits_hold(state_)) return true;
  prices_.undo(before_);
  return false;
}

bool Chain::moves_are_limited() const {
  return moved_ && moved_->terms().most_moved_bytes < moved_->total_bytes() / kShareForNewPlan;
}

std::uint64_t Chain::settling_edits() const {
  const auto devices = static_cast<std::uint64_t>(ways_.devices());
  std::uint64_t slices = 0;
  for (const int t : state_.tables()) {
    if (!ways_.is_everywhere(state_.way_of(t))) slices += state_.of_table(t).size();
  }
  return std::min(kSettle + kSettleOfDevice * std::min(kMostDevices, devices),
                  kLeastSettle + kSettleOfSlice * slices);
}

void Chain::keep_if_best() {
  if (state_.sums.missing_bytes > 0 || !(state_.sums.cost_ms < best_ms_ * (1.0 - kBetter))) return;
  best_ms_ = state_.sums.cost_ms;
  best_ = state_.plan();
}

void Chain::run(std::uint64_t edits, const StopCondition& stop) {
  if (state_.tables().empty() || ways_.devices() < 2) return;
  rebuild_.heed(stop);
  const auto spread = [&] { return std::exp((2.0 * random_.uniform() - 1.0) * std::log(kSpread)); };
  if (!begun_) {
    begun_ = true;
    begin(stop);
  }
  if (!state_.is_whole()) return;  // Rules leave some table no place.
  while (done_ < edits && !stop.reached()) {
    prices_.weigh_memory(current_ms_ == kNone ? kTimesForRoom.back() : 1.0);
    const double before_ms = prices_.objective_ms();
    begin_edits();
    const std::size_t heads =
        static_cast<std::size_t>(state_.sums.slices) * static_cast<std::size_t>(ways_.devices());
    const bool drawn = neighbourhoods_.draw(
        rebuild_, heads <= kAllAnewOfSettling * kHeadsOfEdit * kSettle && !moves_are_limited());
    done_ += 1 + rebuild_.head_evaluations() / kHeadsOfEdit;
    if (!drawn || !apply_rebuilt()) continue;
    const double reference_ms = std::min(current_ms_, before_.cost_ms);
    const double length = spread();
    const double heat = spread();
    settle(static_cast<std::uint64_t>(static_cast<double>(settling_edits()) * length),
           kHottest * heat * reference_ms, current_ms_, stop);
    prices_.price_state();
    const double slack_ms =
        kSlack * reference_ms / (1.0 + static_cast<double>(done_) / kHalfSlackAfter);
    const double cost_ms = state_.sums.cost_ms;
    const bool fits = state_.sums.missing_bytes == 0;
    const bool keep =
        current_ms_ == kNone
            ? fits || prices_.objective_ms() < before_ms
            : fits && (cost_ms <= current_ms_ ||
                       cost_ms - current_ms_ < -slack_ms * natural_log(random_.uniform() + 1e-300));
    if (!keep) {
      prices_.undo(before_);
      continue;
    }
    if (!fits) continue;
    keep_if_best();
    current_ms_ = cost_ms;
  }
}

// Edits are priced in batches from one state, many at once where few are accepted. The first that
// is accepted ends its batch.
void Chain::settle(std::uint64_t edits, double hottest_ms, double most_ms,
                   const StopCondition& stop) {
  const std::uint64_t third = edits / 3;
  std::uint64_t looked = 0;
  for (std::uint64_t done = 0; done < edits;) {
    const double wanted = kBatchOfShare / accepted_share_;
    const auto count =
        static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostOfBatch)));
    const double left = 1.0 - static_cast<double>(done) / static_cast<double>(edits);
    const double temperature_ms = hottest_ms * left * left + 1e-12;
    const double now_ms = prices_.objective_ms();
    edit_prices_.begin();
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!moves_.draw(batch_[drawn])) continue;
      limits_ms_[drawn] = now_ms - temperature_ms * natural_log(random_.uniform() + 1e-300);
      edit_prices_.add(batch_[drawn], limits_ms_[drawn]);
      ++drawn;
    }
    const std::uint64_t before = done;
    done += count;
    done_ += count;
    if (drawn > 0) {
      const std::vector<EditPrice>& prices = edit_prices_.run();
      bool accepted = false;
      for (std::size_t i = 0; i < drawn && !accepted; ++i) {
        accepted = prices[i].objective_ms <= limits_ms_[i] &&
                   edit_prices_.price(i).objective_ms <= limits_ms_[i];
        if (accepted) edit_prices_.accept(batch_[i], i);
      }
      accepted_share_ +=
          kNewShare * ((accepted ? 1.0 / static_cast<double>(count) : 0.0) - accepted_share_);
    }
    if (before <= third && done > third && state_.sums.missing_bytes == 0 &&
        state_.sums.cost_ms > kGiveUp * most_ms) {
      return;
    }
    if (done - looked < kLookAfter) continue;
    looked = done;
    if (stop.reached()) return;
  }
}

bool Chain::build_replicas(std::size_t count) {
  std::vector<int> first = neighbourhoods_.replicas_first();
  std::vector<int> others(first.begin() + static_cast<std::ptrdiff_t>(count), first.end());
  first.resize(count);
  rebuild_.begin();
  std::erase_if(others,
                [&](int t) { return !state_.is_replica(t) || !ways_.of(t).may_be(Way::kDevice); });
  double all_ms = 0.0;
  for (const int t : state_.tables()) {
    if (state_.way_of(t) == Way::kDevice) all_ms += neighbourhoods_.whole_ms(t);
  }
  for (const int t : others) all_ms += neighbourhoods_.whole_ms(t);
  for (const int t : others) {
    rebuild_.take_out(t);
    rebuild_.put_in(t, neighbourhoods_.cut_by_load(t, all_ms));
  }
  for (const int t : first) {
    if (state_.is_replica(t) || !rebuild_.affords_replica(t)) continue;
    rebuild_.take_out(t);
    rebuild_.put_in(t, {Way::kReplica, 1});
  }
  done_ += 1 + rebuild_.head_evaluations() / kHeadsOfEdit;
  return rebuild_.place(0.0);
}

bool Chain::build(const Cuts& cuts, double columns_share, bool exact) {
  const std::vector<int>& tables = state_.tables();
  rebuild_.begin();
  for (const int t : tables) rebuild_.take_out(t);
  for (std::size_t i = 0; i < tables.size(); ++i) rebuild_.put_in(tables[i], cuts[i]);
  if (exact && rebuild_.head_evaluations() <= kHeadsOfEdit * kSettle) {
    done_ += rebuild_.head_evaluations() / kHeadsOfEdit;
    return rebuild_.place(0.0);
  }
  ++done_;
  return rebuild_.place_by_loads(columns_share);
}

std::vector<std::size_t> Chain::numbers_of_replicas() const {
  std::vector<std::size_t> numbers;
  const std::size_t most = neighbourhoods_.replicas_first().size();
  for (std::size_t n = 0; n <= most; n = n < 4 ? n + 1 : n * 5 / 4 + 1) numbers.push_back(n);
  // Near to what runs.
  const auto now = static_cast<std::size_t>(state_.sums.replica_count);
  for (const std::size_t apart : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    if (apart <= now) numbers.push_back(now - apart);
    if (now + apart <= most) numbers.push_back(now + apart);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

void Chain::try_ladder(const StopCondition& stop) {
  struct Built {
    double cost_ms;
    Cuts cuts;
    double columns_share;
  };
  std::vector<Built> built;
  const WayLadder ladder(state_, prices_, stop);
  const std::size_t of_rung = state_.tables().size() * static_cast<std::size_t>(ways_.devices());
  const std::size_t most =
      std::clamp(kPlacesOfRungs / std::max<std::size_t>(1, of_rung), kFewestRungs, kMostRungs);
  for (const Cuts& cuts : ladder.best(most, stop)) {
    for (const double columns_share : kSharesOfColumns) {
      if (stop.reached()) return;
      begin_edits();
      if (!build(cuts, columns_share, false)) continue;
      prices_.apply(rebuild_.edit());
      const double cost_ms = rung_ms();
      prices_.undo(before_);
      // The limit may have changed nothing.
      const bool is_known = !built.empty() && built.back().cost_ms == cost_ms;
      if (!is_known) built.push_back({cost_ms, cuts, columns_share});
    }
  }
  std::ranges::stable_sort(built, {}, &Built::cost_ms);
  if (built.size() > order_.rungs + order_.more_rungs) {
    built.resize(order_.rungs + order_.more_rungs);
  }
  std::size_t tried = 0;
  for (const Built& one : built) {
    // More rungs come after all that fewer do.
    if (tried++ == order_.rungs && state_.is_whole()) settle_whole(stop);
    if (one.cost_ms > kWorstRung * current_ms_ || stop.reached()) return;
    const bool was_whole = state_.is_whole();
    begin_edits();
    if (!build(one.cuts, one.columns_share, true) || !apply_rebuilt()) continue;
    if (!state_.is_whole()) return;  // Rules leave some table no way.
    settle_and_keep(4, was_whole, stop);
  }
}

void Chain::try_replicas(const StopCondition& stop) {
  std::vector<std::pair<double, std::size_t>> numbers;
  for (const std::size_t number : numbers_of_replicas()) {
    if (stop.reached()) return;
    begin_edits();
    if (!build_replicas(number) || !apply_rebuilt()) continue;
    numbers.emplace_back(rung_ms(), number);
    prices_.undo(before_);
  }
  std::ranges::stable_sort(numbers, {}, &std::pair<double, std::size_t>::first);
  if (numbers.size() > kNumbersThatSettle) numbers.resize(kNumbersThatSettle);
  for (const auto& [cost_ms, number] : numbers) {
    if (cost_ms > kWorstRung * current_ms_ || stop.reached()) return;
    begin_edits();
    if (build_replicas(number) && apply_rebuilt()) settle_and_keep(1, true, stop);
  }
}

void Chain::settle_and_keep(std::uint64_t part, bool was_whole, const StopCondition& stop) {
  settle(settling_edits() / part, kHottest * state_.sums.cost_ms, kNone, stop);
  prices_.price_state();
  for (const double times : kTimesForRoom) {
    if (state_.sums.missing_bytes == 0 || state_.sums.cost_ms >= current_ms_) break;
    prices_.weigh_memory(times);
    settle(settling_edits() / part, kHottest * state_.sums.cost_ms, kNone, stop);
    prices_.weigh_memory(1.0);
    prices_.price_state();
  }
  if (order_.keeps_others && state_.sums.missing_bytes == 0) others_.push_back(state_.plan());
  if (state_.sums.missing_bytes > 0 || state_.sums.cost_ms >= current_ms_) {
    if (was_whole) prices_.undo(before_);
    return;
  }
  current_ms_ = state_.sums.cost_ms;
  keep_if_best();
}

void Chain::settle_whole(const StopCondition& stop) {
  begin_edits();
  settle_and_keep(1, true, stop);
}

void Chain::begin(const StopCondition& stop) {
  if (order_.rungs > 0) try_ladder(stop);
  if (moves_are_limited()) {
    // Before what may be moved is spent on less.
    if (!order_.ways) try_ways(stop);
    try_replicas(stop);
  }
  if (!state_.is_whole()) return;
  settle_whole(stop);
  if (order_.ways) try_ways(stop);
}

// A single table may be worth as much as many, and few draws find it.
void Chain::try_ways(const StopCondition& stop) {
  std::vector<int> tables = neighbourhoods_.by_load();
  std::ranges::reverse(tables);
  tables.resize(std::min(tables.size(), kTablesOfWays));
  std::vector<TableCut> tries;
  for (const Way way : ways_.list()) tries.push_back({way, 1});
  tries.insert(tries.begin() + 1, {Way::kReplica, 1});
  std::ranges::reverse(tries);  // The widest first, and columns last.
  for (const Way way : ways_.list()) {
    if (way != Way::kDevice && ways_.places(way) > 1) tries.push_back({way, ways_.places(way)});
  }
  for (const int t : tables) {
    for (const TableCut& cut : tries) {
      if (stop.reached()) return;
      if (!ways_.of(t).may_be(cut.way) || state_.way_of(t) == cut.way) continue;
      begin_edits();
      rebuild_.begin();
      rebuild_.take_out(t);
      rebuild_.put_in(t, cut);
      done_ += 1 + rebuild_.head_evaluations() / kHeadsOfEdit;
      if (!rebuild_.place(0.0) || !apply_rebuilt()) continue;
      if (state_.sums.cost_ms > kWorstWay * current_ms_) {
        prices_.undo(before_);
      } else {
        settle_and_keep(4, true, stop);
      }
    }
  }
}

}  // namespace neuroshard
