#include "search/engine/tabu_search.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "search/moves/all_slice_moves.h"

namespace neuroshard {
namespace {

constexpr std::size_t kDevicesOfTurn = 2;   // Edits of so many devices are looked at in a turn.
constexpr std::size_t kEditsOfBatch = 256;  // Edits between looks at the stop condition.
constexpr int kTurnsWithoutGain = 6;        // Turns without a better plan.
constexpr int kLeastTenure = 8;             // Turns for which something is tabu, at least;
constexpr int kTenureLengths = 4;           // so many lengths take turns.
constexpr double kCheaperBy = 1e-7;         // Estimates are no more exact than that.
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class TabuSearch {
 public:
  TabuSearch(PlanState& state, StatePrices& prices, EditPrices& edit_prices)
      : state_(state),
        prices_(prices),
        edit_prices_(edit_prices),
        moves_(state),
        best_ms_(prices.objective_ms()),
        batch_(kEditsOfBatch) {}

  std::uint64_t run(std::uint64_t most_edits, const StopCondition& stop) {
    state_.begin_undo();
    PlanSums best = state_.sums;
    int best_turn = 0;
    for (turn_ = 0; turn_ - best_turn <= kTurnsWithoutGain && looked_ < most_edits && choose(stop);
         ++turn_) {
      apply_chosen();
      const double now_ms = prices_.objective_ms();
      if (now_ms >= best_ms_ * (1.0 - kCheaperBy)) continue;
      best_ms_ = now_ms;
      best_turn = turn_;
      state_.begin_undo();
      best = state_.sums;
    }
    prices_.undo(best);
    return looked_;
  }

 private:
  /// Columns of a table at a place.
  using Holding = std::tuple<int, Way, int>;

  [[nodiscard]] std::vector<std::size_t> decisive_devices() const {
    const DeviceRanks& ranks = prices_.ranks();
    std::vector<std::size_t> devices;
    for (const std::size_t d : {ranks.slowest, ranks.last_ready, ranks.widest, ranks.busiest}) {
      if (devices.size() < kDevicesOfTurn && std::ranges::find(devices, d) == devices.end()) {
        devices.push_back(d);
      }
    }
    return devices;
  }

  /// Finds `chosen_`. False: none, or `stop` is reached.
  bool choose(const StopCondition& stop) {
    chosen_.clear();
    chosen_ms_ = kNoLimit;
    bool in_time = !stop.reached();
    const auto begin_batch = [&] {
      edit_prices_.begin();
      drawn_ = 0;
    };
    begin_batch();
    for (const std::size_t device : decisive_devices()) {
      if (!in_time) break;
      moves_.for_each_at(static_cast<int>(device), [&](const Edit& edit) {
        batch_[drawn_++] = edit;
        edit_prices_.add(edit, chosen_ms_);
        if (drawn_ < kEditsOfBatch) return true;
        price_batch();
        begin_batch();
        in_time = !stop.reached();
        return in_time;
      });
    }
    price_batch();
    return in_time && !chosen_.empty();
  }

  /// Prices the batch, and keeps its best. The price of a batch's first look is a lower bound, and
  /// nearly all of the price.
  void price_batch() {
    looked_ += drawn_;
    std::vector<std::pair<double, std::size_t>> order;
    const std::vector<EditPrice>& bounds = edit_prices_.run();
    for (std::size_t i = 0; i < drawn_; ++i) {
      if (bounds[i].objective_ms < chosen_ms_) order.emplace_back(bounds[i].objective_ms, i);
    }
    std::ranges::sort(order);
    for (const auto& [bound_ms, i] : order) {
      if (bound_ms >= chosen_ms_) return;
      const bool tabu = is_tabu(batch_[i]);
      if (tabu && bound_ms >= best_ms_) continue;
      const double objective_ms = edit_prices_.price(i).objective_ms;
      if (objective_ms >= chosen_ms_ || (tabu && objective_ms >= best_ms_)) continue;
      chosen_ms_ = objective_ms;
      chosen_ = batch_[i];
    }
  }

  [[nodiscard]] std::map<Holding, int> columns_gained(const Edit& edit) const {
    std::map<Holding, int> gained;
    for (const int id : edit.out) {
      const StateSlice& slice = state_.slice(id);
      gained[{slice.table, slice.way, slice.place}] -= slice.width;
    }
    for (const StateSlice& slice : edit.in) {
      gained[{slice.table, slice.way, slice.place}] += slice.width;
    }
    return gained;
  }

  [[nodiscard]] bool is_tabu(const Edit& edit) const {
    return std::ranges::any_of(columns_gained(edit), [&](const auto& gained) {
      const auto found = tabu_until_.find(gained.first);
      return gained.second > 0 && found != tabu_until_.end() && found->second > turn_;
    });
  }

  void apply_chosen() {
    for (const auto& [holding, columns] : columns_gained(chosen_)) {
      if (columns < 0) tabu_until_[holding] = turn_ + 1 + kLeastTenure + turn_ % kTenureLengths;
    }
    edit_prices_.begin();
    edit_prices_.add(chosen_, kNoLimit);
    (void)edit_prices_.run();
    (void)edit_prices_.price(0);
    edit_prices_.accept(chosen_, 0);
  }

  PlanState& state_;
  StatePrices& prices_;
  EditPrices& edit_prices_;
  AllSliceMoves moves_;
  double best_ms_;
  std::vector<Edit> batch_;
  std::size_t drawn_ = 0;              ///< Edits in the batch.
  std::map<Holding, int> tabu_until_;  ///< Turn from which on a place may have columns again.
  int turn_ = 0;
  Edit chosen_;
  double chosen_ms_ = 0.0;
  std::uint64_t looked_ = 0;
};

}  // namespace

std::uint64_t tabu_search(PlanState& state, StatePrices& prices, EditPrices& edit_prices,
                          std::uint64_t most_edits, const StopCondition& stop) {
  return TabuSearch(state, prices, edit_prices).run(most_edits, stop);
}

}  // namespace neuroshard
