#include "search/state/edit_prices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/models/final_cost.h"
#include "core/tables/host_shares.h"

namespace neuroshard {
namespace {

/// Up to so many devices all are priced: their rows fit in one register of every network.
constexpr std::size_t kDevicesOfOneRegister = 16;
/// Accepted edits after which all devices are priced again.
constexpr int kAcceptedBetween = 16;

// An edit that makes the last device ready later by x delays all by about x; a quarter of that is
// certain enough to refuse by.
constexpr double kCertainDelay = 0.25;

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

EditPrices::EditPrices(StatePrices& prices)
    : prices_(prices),
      state_(prices.state()),
      sums_of_(state_.sums),
      device_count_(sums_of_.columns.size()),
      width_(state_.catalog().embedding_width()),
      models_(prices.models()),
      comm_(models_, state_.task().devices),
      all_decide_(device_count_ <= kDevicesOfOneRegister || prices.nodes() != nullptr ||
                  !models_.symmetric()),
      stamps_(device_count_, 0),
      slots_(device_count_, 0),
      trial_ready_(device_count_, 0.0),
      trial_compute_ms_(device_count_, 0.0F),
      trial_backward_ms_(device_count_, 0.0F),
      trial_ids_(device_count_, 0) {}

void EditPrices::begin() {
  trials_.clear();
  touched_.clear();
  rows_ = 0;
  seen_rows_.clear();
  range_.reset();
}

std::size_t EditPrices::new_row(std::size_t device) {
  const std::size_t at = rows_ * width_;
  if (sums_.size() < at + width_) sums_.resize(2 * (at + width_));
  std::copy_n(sums_of_.embeddings.data() + device * width_, width_, sums_.data() + at);
  if (!sums_of_.hosted.empty()) {
    hosted_.resize(rows_);
    hosted_.push_back(sums_of_.hosted[device]);
  }
  return rows_++;
}

void EditPrices::add(const Edit& edit, double limit_ms) {
  Trial& trial = trials_.emplace_back();
  trial.first = touched_.size();
  trial.limit_ms = limit_ms;
  trial.terms_ms = prices_.terms_ms_after(edit);
  ++serial_;
  for (const int id : edit.out) {
    state_.for_each_shard(state_.slice(id),
                          [&](int device, int shard) { change(device, shard, -1); });
  }
  for (const StateSlice& slice : edit.in) {
    state_.for_each_shard(slice, [&](int device, int shard) { change(device, shard, 1); });
  }
  trial.end = touched_.size();
}

void EditPrices::change(int device, int shard, int sign) {
  const auto d = static_cast<std::size_t>(device);
  const PlanSums& s = sums_of_;
  if (stamps_[d] != serial_) {
    stamps_[d] = serial_;
    slots_[d] = touched_.size();
    touched_.push_back({.device = d,
                        .row = new_row(d),
                        .shards = s.shards[d],
                        .columns = s.columns[d],
                        .compute_ms = 0.0F,
                        .backward_ms = s.backward_ms[d],
                        .ids = s.ids[d],
                        .bytes = s.bytes[d],
                        .price_ms = s.price_ms[d],
                        .ready_ms = 0.0,
                        .prefetched_ms = kNoPrefetch});
  }
  Touched& touched = touched_[slots_[d]];
  const ShardLoad& load = state_.catalog().load(shard);
  touched.columns += static_cast<float>(sign * load.columns);
  touched.ids += sign * load.ids;
  touched.bytes += sign * load.bytes;
  touched.price_ms += sign * load.price_ms;
  touched.shards += sign;
  if (load.hosted != nullptr) {
    hosted_[touched.row].add(state_.catalog().hosted(load, d), sign);
  }
  float* const sum = sums_.data() + touched.row * width_;
  const float* const embedding = state_.catalog().embedding(shard);
  const auto factor = static_cast<float>(sign);
  for (std::size_t i = 0; i < width_; ++i) sum[i] += factor * embedding[i];
}

const std::vector<EditPrice>& EditPrices::run() {
  results_.assign(trials_.size(), {});
  heads_.resize(rows_);
  if (rows_ > 0) models_.compute({sums_.data(), rows_ * width_}, heads_);
  prices_.work.heads += rows_;
  for (std::size_t i = 0; i < trials_.size(); ++i) look_first(trials_[i], results_[i]);
  comm_.answer_backward();
  if (!models_.symmetric()) return results_;
  for (Trial& trial : trials_) {
    if (!trial.refused) ask_bound(trial);
  }
  const std::vector<float>& forward_ms = comm_.answer_forward();
  prices_.work.comms += forward_ms.size();
  std::size_t row = 0;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (!trials_[i].refused) take_bound(trials_[i], results_[i], forward_ms[row++]);
  }
  return results_;
}

const EditPrice& EditPrices::price(std::size_t index) {
  Trial& trial = trials_[index];
  if (models_.symmetric()) {
    price_decisive(trial, results_[index]);
  } else {
    price_together(trial, results_[index]);
  }
  return results_[index];
}

// Heads, memory, columns and ids; asks for backward costs.
void EditPrices::look_first(Trial& trial, EditPrice& price) {
  const PlanSums& s = sums_of_;
  std::int64_t missing = s.missing_bytes;
  double latest = -kNever;
  trial.square = prices_.ranks().square;
  for (Touched& touched : touched_in(trial)) {
    const std::size_t d = touched.device;
    touched.compute_ms = prices_.compute_ms(d, heads_[touched.row], touched.shards,
                                            touched.price_ms, hosted(touched));
    latest = std::max(
        latest, static_cast<double>(touched.compute_ms) + static_cast<double>(s.backward_ms[d]));
    touched.prefetched_ms = prices_.prefetched_ms(d, hosted(touched));
    const double own = std::max(
        touched.prefetched_ms,
        prices_.own_ms(touched.compute_ms, touched.columns, static_cast<double>(touched.ids)));
    const double before =
        std::max(s.prefetched_ms[d],
                 prices_.own_ms(s.compute_ms[d], s.columns[d], static_cast<double>(s.ids[d])));
    trial.square += own * own - before * before;
    missing += prices_.missing_bytes(d, touched.bytes, hosted(touched));
    // Nothing is missing anywhere if nothing is in all.
    if (s.missing_bytes > 0) missing -= prices_.missing_bytes(d, s.bytes[d], prices_.hosted(d));
  }
  if (!s.in_pools.empty()) {
    missing += pools_missing_bytes(state_.task(), in_pools_after(trial)) -
               pools_missing_bytes(state_.task(), s.in_pools);
  }
  price.missing_bytes = missing;
  look_at_prefetches(trial);
  const double delay = std::max(0.0, latest - prices_.ranks().ready_ms[prices_.ranks().last_ready]);
  const double guides = prices_.guide_ms(trial.square) + prices_.memory_ms(missing, s.cost_ms);
  // All but ids are at least so much.
  const double rest_ms = s.cost_ms - s.terms_ms - s.ids_ms + s.hidden_ms + kCertainDelay * delay;
  const auto refuse = [&](double ids_ms) {
    const double hidden_ms = hidden_ids_ms(prices_.overlap(), rest_ms, ids_ms);
    trial.refused = delay > 0.0 && !prices_.prefetches() && trial.end - trial.first <= 2 &&
                    s.cost_ms - s.ids_ms + ids_ms - s.terms_ms + trial.terms_ms +
                            kCertainDelay * delay + guides + s.hidden_ms - hidden_ms >
                        trial.limit_ms;
    if (trial.refused) price = {kNever, kNever, missing};
    return trial.refused;
  };
  if (refuse(0.0)) return;
  look_at_ids(trial);
  if (refuse(trial.ids_ms)) return;
  look_at_columns(trial);
}

const std::vector<std::int64_t>& EditPrices::in_pools_after(const Trial& trial) {
  trial_in_pools_ = sums_of_.in_pools;
  for (const Touched& touched : touched_in(trial)) {
    prices_.move_in_pools(touched.device, *prices_.hosted(touched.device), *hosted(touched),
                          trial_in_pools_);
  }
  return trial_in_pools_;
}

void EditPrices::look_at_prefetches(Trial& trial) {
  if (!prices_.prefetches()) return;
  trial_prefetched_ms_ = sums_of_.prefetched_ms;
  for (const Touched& touched : touched_in(trial)) {
    trial_prefetched_ms_[touched.device] = touched.prefetched_ms;
  }
  trial.prefetched_ms = std::ranges::max(trial_prefetched_ms_);
}

void EditPrices::look_at_ids(Trial& trial) {
  const PlanSums& s = sums_of_;
  trial.ids_ms = s.ids_ms;
  if (!prices_.ids().priced()) return;
  const bool same = std::ranges::all_of(touched_in(trial), [&](const Touched& touched) {
    return touched.ids == s.ids[touched.device];
  });
  if (same) return;
  trial_ids_ = s.ids;
  for (const Touched& touched : touched_in(trial)) {
    trial_ids_[touched.device] = touched.ids;
  }
  trial.ids_ms = prices_.ids().ms(most_lookups_seen(prices_.nodes(), trial_ids_));
}

void EditPrices::look_at_columns(Trial& trial) {
  const PlanSums& s = sums_of_;
  if (!range_) range_ = range_of(s.seen);
  trial.range = *range_;
  const bool same = std::ranges::all_of(touched_in(trial), [&](const Touched& touched) {
    return touched.columns == s.columns[touched.device];
  });
  if (same) return;
  trial.seen = seen_rows_.size();
  seen_rows_.insert(seen_rows_.end(), s.columns.begin(), s.columns.end());
  const std::span<float> seen(seen_rows_.data() + trial.seen, device_count_);
  for (const Touched& touched : touched_in(trial)) {
    seen[touched.device] = touched.columns;
  }
  if (!models_.symmetric()) return;
  if (prices_.nodes() != nullptr) {
    const std::vector<float> columns(seen.begin(), seen.end());
    prices_.nodes()->see(columns, seen);
  }
  trial.range = range_of(seen);
  for (Touched& touched : touched_in(trial)) {
    comm_.ask_backward(seen[touched.device], trial.range, &touched.backward_ms);
  }
  if (trial.range == *range_) {
    trial.last_backward_ms = s.backward_ms[prices_.ranks().last_ready];
  } else {
    comm_.ask_backward(seen[prices_.ranks().last_ready], trial.range, &trial.last_backward_ms);
  }
}

bool EditPrices::is_touched(const Trial& trial, std::size_t device) {
  return std::ranges::find(touched_in(trial), device, &Touched::device) != touched_in(trial).end();
}

// Devices that the edit leaves alone are taken to be shifted all alike by its range of columns.
void EditPrices::ask_bound(Trial& trial) {
  const PlanSums& s = sums_of_;
  const DeviceRanks& ranks = prices_.ranks();
  const std::size_t last = ranks.last_ready;
  trial.shift_ms = trial.seen == Trial::kSame ? 0.0
                                              : static_cast<double>(trial.last_backward_ms) -
                                                    static_cast<double>(s.backward_ms[last]);
  double sum = ranks.sum_ready_ms;
  double latest = is_touched(trial, last) ? -kNever : ranks.ready_ms[last];
  trial.bound_by = last;
  trial.bound_backward_ms = static_cast<double>(s.backward_ms[last]) + trial.shift_ms;
  for (Touched& touched : touched_in(trial)) {
    touched.ready_ms = static_cast<double>(touched.compute_ms) +
                       static_cast<double>(touched.backward_ms) - trial.shift_ms;
    sum += touched.ready_ms - ranks.ready_ms[touched.device];
    if (touched.ready_ms > latest) {
      latest = touched.ready_ms;
      trial.bound_by = touched.device;
      trial.bound_backward_ms = touched.backward_ms;
    }
  }
  set_ready_by_bound(trial);
  const auto [first, most] = std::ranges::minmax(trial_ready_);
  trial.bound_ready_ms = latest + trial.shift_ms;
  comm_.ask_forward(seen_by(trial)[trial.bound_by], latest - first, trial.range,
                    sum / static_cast<double>(device_count_) - first, most - first);
}

void EditPrices::set_ready_by_bound(const Trial& trial) {
  trial_ready_ = prices_.ranks().ready_ms;
  for (const Touched& touched : touched_in(trial)) {
    trial_ready_[touched.device] = touched.ready_ms;
  }
}

void EditPrices::take_bound(Trial& trial, EditPrice& price, float forward_ms) const {
  set_price(trial, price, trial.bound_ready_ms + forward_ms + prices_.replicas_ms(trial.bound_by),
            forward_ms, trial.bound_backward_ms);
}

void EditPrices::set_price(Trial& trial, EditPrice& price, double own_ms, double outputs_ms,
                           double gradients_ms) const {
  const Iteration iteration = prices_.iteration(own_ms, trial.ids_ms, outputs_ms, gradients_ms);
  trial.hidden_ms = iteration.hidden_ms;
  price.cost_ms = std::max(iteration.ms, trial.prefetched_ms) + trial.terms_ms;
  price.objective_ms = price.cost_ms + prices_.guide_ms(trial.square) +
                       prices_.memory_ms(price.missing_bytes, price.cost_ms);
}

void EditPrices::set_trial_ready(const Trial& trial) {
  const PlanSums& s = sums_of_;
  if (!all_decide_ || trial.seen == Trial::kSame) {
    return set_ready_by_bound(trial);
  }
  ask_backward_of_all(trial);
  for (std::size_t d = 0; d < device_count_; ++d) {
    trial_ready_[d] =
        static_cast<double>(s.compute_ms[d]) + static_cast<double>(trial_backward_ms_[d]);
  }
  for (const Touched& touched : touched_in(trial)) {
    const std::size_t d = touched.device;
    trial_ready_[d] =
        static_cast<double>(touched.compute_ms) + static_cast<double>(trial_backward_ms_[d]);
  }
}

void EditPrices::ask_backward_of_all(const Trial& trial) {
  const float* const seen = seen_by(trial);
  for (std::size_t d = 0; d < device_count_; ++d) {
    comm_.ask_backward(seen[d], trial.range, &trial_backward_ms_[d]);
  }
  comm_.answer_backward();
}

double EditPrices::least_backward_ms(const Trial& trial) {
  if (prices_.overlap().dense_beside_gradients_ms == 0.0) return 0.0;
  if (all_decide_ && trial.seen != Trial::kSame) return std::ranges::min(trial_backward_ms_);
  double least = std::ranges::min(sums_of_.backward_ms) + trial.shift_ms;
  for (const Touched& touched : touched_in(trial)) {
    least = std::min(least, static_cast<double>(touched.backward_ms));
  }
  return least;
}

void EditPrices::price_decisive(Trial& trial, EditPrice& price) {
  decisive_.clear();
  set_trial_ready(trial);
  if (all_decide_ && trial.seen != Trial::kSame) trial.shift_ms = 0.0;
  const auto ready = std::ranges::minmax(trial_ready_);
  const double sum = std::accumulate(trial_ready_.begin(), trial_ready_.end(), 0.0);
  const float* const seen = seen_by(trial);
  const auto ask = [&](std::size_t d) {
    decisive_.push_back({d, trial_ready_[d] + trial.shift_ms, 0.0});
    comm_.ask_forward(seen[d], trial_ready_[d] - ready.min, trial.range,
                      sum / static_cast<double>(device_count_) - ready.min, ready.max - ready.min);
  };
  if (all_decide_) {
    for (std::size_t d = 0; d < device_count_; ++d) ask(d);
  } else {
    for (const Touched& touched : touched_in(trial)) ask(touched.device);
    const DeviceRanks& ranks = prices_.ranks();
    const std::array others = {ranks.slowest, ranks.second_slowest, ranks.last_ready,
                               ranks.first_ready};
    for (auto other = others.begin(); other != others.end(); ++other) {
      if (std::find(others.begin(), other, *other) == other && !is_touched(trial, *other)) {
        ask(*other);
      }
    }
  }
  const std::vector<float>& forward_ms = comm_.answer_forward();
  prices_.work.comms += forward_ms.size();
  double most = -kNever;
  for (std::size_t i = 0; i < decisive_.size(); ++i) {
    Decides& one = decisive_[i];
    one.total_ms = one.ready_ms + forward_ms[i] + prices_.replicas_ms(one.device);
    most = std::max(most, one.total_ms);
  }
  set_price(trial, price, most, std::ranges::min(forward_ms), least_backward_ms(trial));
}

// By networks that look at all devices at once.
void EditPrices::price_together(Trial& trial, EditPrice& price) {
  const PlanSums& s = sums_of_;
  decisive_.clear();
  trial_compute_ms_ = s.compute_ms;
  for (const Touched& touched : touched_in(trial)) {
    trial_compute_ms_[touched.device] = touched.compute_ms;
  }
  const std::span<const float> columns(
      trial.seen == Trial::kSame ? s.columns.data() : seen_rows_.data() + trial.seen,
      device_count_);
  offsets_ms_.resize(device_count_);
  forward_answers_.resize(device_count_);
  exchange_costs(models_, columns, trial_compute_ms_, offsets_ms_, trial_backward_ms_,
                 forward_answers_);
  ++prices_.work.comms;
  double most = -kNever;
  for (std::size_t d = 0; d < device_count_; ++d) {
    const double ready =
        static_cast<double>(trial_compute_ms_[d]) + static_cast<double>(trial_backward_ms_[d]);
    const double total = ready + forward_answers_[d] + prices_.replicas_ms(d);
    decisive_.push_back({d, ready, total});
    most = std::max(most, total);
  }
  set_price(trial, price, most, std::ranges::min(forward_answers_),
            std::ranges::min(trial_backward_ms_));
}

void EditPrices::accept(const Edit& edit, std::size_t index) {
  const Trial& trial = trials_[index];
  PlanSums& s = sums_of_;
  if (!s.in_pools.empty()) s.in_pools = in_pools_after(trial);
  state_.apply(edit);
  for (const Touched& touched : touched_in(trial)) {
    s.compute_ms[touched.device] = touched.compute_ms;
    s.prefetched_ms[touched.device] = touched.prefetched_ms;
  }
  const bool many = trial.end - trial.first > 4;
  if (!all_decide_ && (many || prices_.count_estimated() >= kAcceptedBetween)) {
    return prices_.price_exchanges();
  }
  if (trial.seen != Trial::kSame) {
    if (models_.symmetric()) {
      const float* const seen = seen_by(trial);
      std::copy_n(seen, device_count_, s.seen.begin());
      if (!all_decide_) {
        ask_backward_of_all(trial);
        for (double& total_ms : s.total_ms) total_ms += trial.shift_ms;
      }
    } else {
      s.seen = s.columns;
    }
    s.backward_ms = trial_backward_ms_;
  }
  for (const Decides& one : decisive_) {
    s.total_ms[one.device] = one.total_ms;
  }
  s.ids_ms = trial.ids_ms;
  s.hidden_ms = trial.hidden_ms;
  prices_.price_terms();
  s.cost_ms = results_[index].cost_ms;
  s.missing_bytes = results_[index].missing_bytes;
  prices_.rank();
}

}  // namespace neuroshard
