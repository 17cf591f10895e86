#include "search/engine/chain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/tables/natural_log.h"

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

constexpr std::size_t kTablesOfWays = 32;
constexpr double kWorstWay = 1.15;  // Over the current plan's cost, before it settles.

// Heads of placements that take as long as an edit.
constexpr std::size_t kHeadsOfEdit = 12;

constexpr std::size_t kRungsThatSettle = 4;
constexpr double kWorstRung = 1.3;    // Over the current plan's cost.
constexpr double kRungNoRoom = 0.3;   // A rung that does not fit costs so much more.
constexpr double kShareOfRoom = 0.4;  // Slices take no more of a device.

}  // namespace

/// How finely tables are cut: so that each slice is so much of what a device has to do on average.
struct Chain::Cut {
  enum class Of { kCompute, kColumns } of;
  double slices_of_device;
};

struct Chain::Rung {
  double cost_ms;
  std::size_t replicas;  ///< The first ones of replicas_first().
  Cut cut;
};

Chain::Chain(const Backend& backend, const BundledTask& bundled, const WayOptions& options,
             const Plan& start, std::uint64_t number, const StopCondition& stop)
    : catalog_(backend, bundled),
      ways_(catalog_, bundled, options),
      state_(catalog_, ways_, start, stop),
      prices_(state_),
      edit_prices_(prices_),
      number_(number),
      random_(0, number),
      moves_(state_, prices_, random_),
      rebuild_(state_, prices_, random_),
      neighbourhoods_(state_, prices_, random_),
      batch_(kMostOfBatch),
      limits_ms_(kMostOfBatch) {
  if (state_.tables().empty()) return;
  prices_.price_state();
  if (state_.sums.missing_bytes == 0) best_ms_ = current_ms_ = state_.sums.cost_ms;
}

std::uint64_t Chain::settling_edits() const {
  const auto devices = static_cast<std::uint64_t>(ways_.devices());
  std::uint64_t slices = 0;
  for (const int t : state_.tables()) {
    if (state_.way_of(t) != Way::kAll) slices += state_.of_table(t).size();
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
  const auto spread = [&] { return std::exp((2.0 * random_.uniform() - 1.0) * std::log(kSpread)); };
  if (!begun_) {
    begun_ = true;
    begin(stop);
  }
  while (done_ < edits && !stop.reached()) {
    state_.begin_undo();
    before_ = state_.sums;
    const std::size_t heads =
        static_cast<std::size_t>(state_.sums.slices) * static_cast<std::size_t>(ways_.devices());
    const bool drawn =
        neighbourhoods_.draw(rebuild_, heads <= kAllAnewOfSettling * kHeadsOfEdit * kSettle);
    done_ += 1 + rebuild_.head_evaluations() / kHeadsOfEdit;
    if (!drawn) continue;
    prices_.apply(rebuild_.edit());
    const double reference_ms = std::min(current_ms_, before_.cost_ms);
    const double length = spread();
    const double heat = spread();
    settle(static_cast<std::uint64_t>(static_cast<double>(settling_edits()) * length),
           kHottest * heat * reference_ms, current_ms_, stop);
    prices_.price_state();
    const double slack_ms =
        kSlack * reference_ms / (1.0 + static_cast<double>(done_) / kHalfSlackAfter);
    const double cost_ms = state_.sums.cost_ms;
    const bool keep = state_.sums.missing_bytes == 0 &&
                      (cost_ms <= current_ms_ ||
                       cost_ms - current_ms_ < -slack_ms * natural_log(random_.uniform() + 1e-300));
    if (!keep) {
      prices_.undo(before_);
      continue;
    }
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
    const auto wanted = static_cast<std::size_t>(kBatchOfShare / accepted_share_);
    const std::size_t count = std::clamp<std::size_t>(wanted, 1, kMostOfBatch);
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

bool Chain::build(const Rung& rung) {
  const std::vector<int>& first = neighbourhoods_.replicas_first();
  std::vector<char> replicated(state_.task().tables.size(), 0);
  for (std::size_t i = 0; i < rung.replicas; ++i) {
    replicated[static_cast<std::size_t>(first[i])] = 1;
  }
  const bool by_columns = rung.cut.of == Cut::Of::kColumns;
  const auto amount = [&](int t) {
    return by_columns ? static_cast<double>(state_.task().tables[static_cast<std::size_t>(t)].dim)
                      : neighbourhoods_.whole_ms(t);
  };
  const auto is_cut = [&](int t) {
    return replicated[static_cast<std::size_t>(t)] == 0 && ways_.of(t).device &&
           (state_.way_of(t) == Way::kDevice || state_.way_of(t) == Way::kReplica);
  };
  double all = 0.0;
  for (const int t : state_.tables()) all += is_cut(t) ? amount(t) : 0.0;
  std::int64_t least_room = prices_.room_bytes(0);
  for (int d = 1; d < ways_.devices(); ++d) {
    least_room = std::min(least_room, prices_.room_bytes(d));
  }
  const int devices = ways_.devices();
  rebuild_.begin();
  for (const int t : state_.tables()) {
    const bool replicate = replicated[static_cast<std::size_t>(t)] != 0;
    const Way way = state_.way_of(t);
    if (replicate && way == Way::kReplica) continue;
    if (!replicate && !is_cut(t)) continue;  // Blocks of the plan stay.
    rebuild_.take_out(t);
    const double wanted = amount(t) * devices * rung.cut.slices_of_device / (all + 1e-9);
    // Columns come out even if all tables have their share of slices, compute if none has more.
    const double of_amount = by_columns ? std::round(wanted) : std::ceil(wanted);
    const double by_bytes =
        static_cast<double>(state_.task().tables[static_cast<std::size_t>(t)].size_bytes()) /
        (kShareOfRoom * static_cast<double>(least_room) + 1.0);
    const double slices = std::ceil(std::clamp(std::max(of_amount, by_bytes), 1.0, 2.0 * devices));
    rebuild_.put_in(t, replicate ? Way::kReplica : Way::kDevice, static_cast<int>(slices));
  }
  done_ += 1 + rebuild_.head_evaluations() / kHeadsOfEdit;
  return rebuild_.place(0.0);
}

void Chain::try_ladder(const StopCondition& stop) {
  const std::size_t heads = state_.tables().size() * static_cast<std::size_t>(ways_.devices());
  if (heads > kAllAnewOfSettling * kHeadsOfEdit * kSettle) return;
  static constexpr std::array<Cut, 5> kCuts = {{{Cut::Of::kCompute, 1.0},
                                                {Cut::Of::kCompute, 2.0},
                                                {Cut::Of::kCompute, 4.0},
                                                {Cut::Of::kColumns, 1.0},
                                                {Cut::Of::kColumns, 2.0}}};
  std::vector<Rung> rungs;
  const std::size_t most = neighbourhoods_.replicas_first().size();
  for (std::size_t replicas = 0; replicas <= most;
       replicas = replicas < 4 ? replicas + 1 : replicas * 5 / 4 + 1) {
    for (const Cut& cut : kCuts) {
      if (stop.reached()) return;
      Rung rung{.cost_ms = 0.0, .replicas = replicas, .cut = cut};
      state_.begin_undo();
      before_ = state_.sums;
      if (!build(rung)) continue;
      prices_.apply(rebuild_.edit());
      rung.cost_ms = state_.sums.cost_ms;
      if (state_.sums.missing_bytes > 0) rung.cost_ms *= 1.0 + kRungNoRoom;
      rungs.push_back(rung);
      prices_.undo(before_);
    }
  }
  std::ranges::stable_sort(rungs, {}, &Rung::cost_ms);
  if (rungs.size() > kRungsThatSettle) rungs.resize(kRungsThatSettle);
  for (const Rung& rung : rungs) {
    if (rung.cost_ms > kWorstRung * current_ms_ || stop.reached()) return;
    state_.begin_undo();
    before_ = state_.sums;
    if (!build(rung)) continue;
    prices_.apply(rebuild_.edit());
    settle_and_keep(2, stop);
  }
}

void Chain::settle_and_keep(std::uint64_t part, const StopCondition& stop) {
  settle(settling_edits() / part, kHottest * state_.sums.cost_ms, kNone, stop);
  prices_.price_state();
  if (state_.sums.missing_bytes > 0 || state_.sums.cost_ms >= current_ms_) {
    prices_.undo(before_);
    return;
  }
  current_ms_ = state_.sums.cost_ms;
  keep_if_best();
}

void Chain::begin(const StopCondition& stop) {
  try_ladder(stop);
  state_.begin_undo();
  before_ = state_.sums;
  settle_and_keep(1, stop);
  if (number_ % 2 == 0) try_ways(stop);
}

// A single table may be worth as much as many, and few draws find it.
void Chain::try_ways(const StopCondition& stop) {
  std::vector<int> tables = neighbourhoods_.by_load();
  std::ranges::reverse(tables);
  tables.resize(std::min(tables.size(), kTablesOfWays));
  for (const int t : tables) {
    for (const Way way : {Way::kAll, Way::kNode, Way::kReplica, Way::kDevice}) {
      if (stop.reached()) return;
      if (!ways_.of(t).may_be(way) || state_.way_of(t) == way) continue;
      state_.begin_undo();
      before_ = state_.sums;
      rebuild_.begin();
      rebuild_.take_out(t);
      rebuild_.put_in(t, way, 1);
      done_ += 1 + rebuild_.head_evaluations() / kHeadsOfEdit;
      if (!rebuild_.place(0.0)) continue;
      prices_.apply(rebuild_.edit());
      if (state_.sums.cost_ms > kWorstWay * current_ms_) {
        prices_.undo(before_);
      } else {
        settle_and_keep(4, stop);
      }
    }
  }
}

}  // namespace neuroshard
