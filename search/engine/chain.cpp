#include "search/engine/chain.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/tables/natural_log.h"
#include "search/engine/tabu_search.h"
#include "search/state/plan_limits.h"

namespace neuroshard {
namespace {

// Beside Chain::kSettle edits after a rebuild,
constexpr std::uint64_t kSettleOfDevice = 60;  // so many for each device,
constexpr std::uint64_t kMostDevices = 64;     // up to so many;
constexpr std::uint64_t kLeastSettle = 40;     // and no more than these,
constexpr std::uint64_t kSettleOfSlice = 200;  // and these for each slice that can be moved.
constexpr double kHottest = 0.0015;            // First temperature, a share of the cost.
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

// A plan made anew moves most of all tables; where less than one of so many parts may be moved, all
// are not placed anew.
constexpr std::int64_t kShareForNewPlan = 2;

}  // namespace

Chain::Chain(const Backend& backend, const BundledTask& bundled, const WayOptions& options,
             const Plan& start, const Order& order, const StopCondition& stop)
    : catalog_(backend, bundled, options.storage),
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

double Chain::draw_most_ms(double now_ms, double temperature_ms) {
  return now_ms - temperature_ms * natural_log(random_.uniform() + 1e-300);
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
    count_rebuild();
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

void Chain::follow(const Chain& other) {
  if (!(other.current_ms_ < current_ms_)) return;
  // Starts may differ in tables that stay as they are, and a chain that was stopped has none.
  if (state_.tables() != other.state_.tables() || state_.fixed() != other.state_.fixed()) return;
  replace_all(other.all_slices());
  current_ms_ = state_.sums.cost_ms;
  keep_if_best();
}

std::vector<StateSlice> Chain::all_slices() const {
  std::vector<StateSlice> slices;
  for (const int t : state_.tables()) {
    for (const int id : state_.of_table(t)) slices.push_back(state_.slice(id));
  }
  return slices;
}

void Chain::replace_all(std::vector<StateSlice> slices) {
  Edit edit;
  for (const int t : state_.tables()) {
    const std::vector<int>& here = state_.of_table(t);
    edit.out.insert(edit.out.end(), here.begin(), here.end());
  }
  edit.in = std::move(slices);
  prices_.apply(edit);
  prices_.price_state();
}

void Chain::search_neighbourhoods(std::uint64_t edits, const StopCondition& stop) {
  if (state_.tables().empty() || ways_.devices() < 2 || !state_.is_whole()) return;
  if (!prices_.models().symmetric()) return;
  done_ += tabu_search(state_, prices_, edit_prices_, edits, stop);
  prices_.price_state();
  keep_if_best();
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
      limits_ms_[drawn] = draw_most_ms(now_ms, temperature_ms);
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

void Chain::settle_to_fit(std::uint64_t part, const StopCondition& stop) {
  const auto settle_part = [&] {
    settle(settling_edits() / part, kHottest * state_.sums.cost_ms, kNone, stop);
  };
  settle_part();
  prices_.price_state();
  for (const double times : kTimesForRoom) {
    if (state_.sums.missing_bytes == 0 || state_.sums.cost_ms >= current_ms_) return;
    prices_.weigh_memory(times);
    settle_part();
    prices_.weigh_memory(1.0);
    prices_.price_state();
  }
}

void Chain::keep_settled(std::size_t rung) {
  if (order_.rungs == 0 || state_.sums.missing_bytes > 0) return;
  settled_rungs_.push_back({state_.sums.cost_ms, rung, state_.plan()});
}

bool Chain::keep_or_undo(bool was_whole) {
  if (state_.sums.missing_bytes > 0 || state_.sums.cost_ms >= current_ms_) {
    if (was_whole) prices_.undo(before_);
    return false;
  }
  current_ms_ = state_.sums.cost_ms;
  keep_if_best();
  return true;
}

void Chain::settle_whole(const StopCondition& stop) {
  begin_edits();
  settle_to_fit(1, stop);
  keep_settled(best_rung_);
  keep_or_undo(true);
}

}  // namespace neuroshard
