#include "search/state/edit_prices.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/models/final_cost.h"
#include "core/models/symmetric_comm_features.h"
#include "core/plans/replicas.h"

namespace neuroshard {
namespace {

/// Up to so many devices all are priced: their rows fit in one register of every network.
constexpr std::size_t kDevicesOfOneRegister = 16;
/// Accepted edits after which all devices are priced again.
constexpr int kAcceptedBetween = 16;
constexpr std::size_t kBackwardCosts = 4096;

// An edit that makes the last device ready later by x delays all by about x; a quarter of that is
// certain enough to refuse by.
constexpr double kCertainDelay = 0.25;

// A search is guided where the slowest device is not changed, by this share of the quadratic mean
// of devices' own loads.
constexpr double kShareOfGuide = 0.1;

// A plan that does not fit costs this share more, and so much more for all room that it lacks.
constexpr double kMissingAnything = 0.06;
constexpr double kMissingEverything = 60.0;

constexpr float kColumnsToMeasure = 2000.0F;
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

EditPrices::EditPrices(PlanState& state)
    : state_(state),
      sums_of_(state.sums),
      catalog_(state.catalog()),
      backend_(catalog_.backend()),
      device_count_(static_cast<std::size_t>(state.task().devices)),
      width_(catalog_.embedding_width()),
      models_(backend_.cost_runner(state.task().devices)),
      ids_(backend_, state.task().devices),
      nodes_(backend_.nodes(state.task().devices)),
      devices_(compute_on_devices(state.task())),
      gradients_(state.task()),
      all_decide_(device_count_ <= kDevicesOfOneRegister || nodes_ != nullptr ||
                  !models_->symmetric()),
      log2_devices_(log2_of_devices(state.task().devices)),
      room_bytes_(rooms_bytes(state.task())),
      stamps_(device_count_, 0),
      slots_(device_count_, 0),
      ready_(device_count_, 0.0),
      trial_ready_(device_count_, 0.0),
      trial_compute_ms_(device_count_, 0.0F),
      trial_backward_ms_(device_count_, 0.0F),
      trial_lookups_(device_count_, 0),
      remembered_(kBackwardCosts) {
  for (const std::int64_t room : room_bytes_) all_room_bytes_ += static_cast<double>(room);
  const AlignedVector<float> nothing(width_, 0.0F);
  models_->compute(nothing, {&empty_ms_, 1});
  const auto exchange_ms = [&](float columns) {
    std::vector<float> cost_ms(device_count_);
    models_->backward(std::vector<float>(device_count_, columns), cost_ms);
    return static_cast<double>(*std::ranges::max_element(cost_ms));
  };
  ms_of_column_ =
      std::max(0.0, (exchange_ms(kColumnsToMeasure) - exchange_ms(0.0F)) / kColumnsToMeasure);
  if (ids_.priced()) ms_of_lookup_unit_ = ms_of_column_ * kColumnsOfLookup / kUnitsOfLookup;
}

double EditPrices::objective_ms() const {
  return sums_of_.cost_ms + guide_ms(square_) + memory_ms(sums_of_.missing_bytes, sums_of_.cost_ms);
}

double EditPrices::guide_ms(double square) const {
  return kShareOfGuide * std::sqrt(std::max(0.0, square) / static_cast<double>(device_count_));
}

double EditPrices::memory_ms(std::int64_t missing_bytes, double cost_ms) const {
  if (missing_bytes == 0) return 0.0;
  return cost_ms * (kMissingAnything +
                    kMissingEverything * static_cast<double>(missing_bytes) / all_room_bytes_);
}

// ------------------------------------------------------------------------------ all devices

void EditPrices::price_state() {
  price_replicas();
  price_heads();
  price_exchanges();
}

void EditPrices::price_replicas() {
  PlanSums& s = sums_of_;
  s.replicas_ms = s.replica_price_ms;
  s.all_reduce_ms = 0.0;
  if (s.replica_count == 0) return;
  if (backend_.kind_price(ShardingKind::kReplicate) == nullptr) {
    float head_ms = 0.0F;
    models_->compute(s.replicas, {&head_ms, 1});
    s.replicas_ms = head_ms;
  }
  std::vector<const Table*> tables;  // In the order of their kinds, as the task has them.
  for (std::size_t t = 0; t < s.is_replica.size(); ++t) {
    if (s.is_replica[t] != 0) tables.push_back(&state_.task().tables[t]);
  }
  const AllReduceModel& model = *backend_.all_reduce();
  const int devices = state_.task().devices;
  s.all_reduce_ms = model.all_reduce_ms(devices, s.dense_bytes) +
                    gather_ms(model, devices, gradients_.traffic(tables));
}

void EditPrices::price_heads() {
  PlanSums& s = sums_of_;
  models_->compute(s.embeddings, s.compute_ms);
  head_evaluations_ += device_count_;
  for (std::size_t d = 0; d < device_count_; ++d) {
    s.compute_ms[d] = compute_ms(d, s.compute_ms[d], s.shards[d], s.price_ms[d]);
  }
}

void EditPrices::price_idle() {
  PlanSums& s = sums_of_;
  double most = 0.0;
  for (std::size_t d = 0; d < device_count_; ++d) {
    s.compute_ms[d] = devices_.base_ms.empty() ? 0.0F : devices_.base_ms[d];
    s.backward_ms[d] = 0.0F;
    s.total_ms[d] = s.compute_ms[d] + s.replicas_ms / speed(d);
    most = std::max(most, s.total_ms[d]);
  }
  s.ids_ms = 0.0;
  s.cost_ms = most + s.all_reduce_ms;
}

void EditPrices::price_exchanges() {
  PlanSums& s = sums_of_;
  accepted_since_ = 0;
  s.missing_bytes = 0;
  for (std::size_t d = 0; d < device_count_; ++d) s.missing_bytes += missing_of(d, s.bytes[d]);
  if (nodes_ != nullptr) {
    nodes_->see(s.columns, s.seen);
  } else {
    s.seen = s.columns;
  }
  if (s.slices == 0) {
    price_idle();
    return rank();
  }
  models_->backward(s.columns, s.backward_ms);
  std::vector<float> offsets_ms(device_count_);
  std::vector<float> forward_ms(device_count_);
  start_offsets(s.compute_ms.data(), s.backward_ms.data(), state_.task().devices,
                offsets_ms.data());
  models_->forward(s.columns, offsets_ms, forward_ms);
  comm_evaluations_ += 1;
  double most = -kNever;
  for (std::size_t d = 0; d < device_count_; ++d) {
    s.total_ms[d] = ready_ms(d) + forward_ms[d] + s.replicas_ms / speed(d);
    most = std::max(most, s.total_ms[d]);
  }
  s.ids_ms = ids_.ms(id_columns(most_lookups_seen(nodes_, s.lookups)));
  s.cost_ms = most + s.ids_ms + s.all_reduce_ms;
  rank();
}

void EditPrices::rank() {
  const PlanSums& s = sums_of_;
  sum_ready_ms_ = 0.0;
  square_ = 0.0;
  slowest_ = second_ = last_ = first_ = widest_ = busiest_ = 0;
  double slowest_ms = -kNever;
  double second_ms = -kNever;
  for (std::size_t d = 0; d < device_count_; ++d) {
    const int device = static_cast<int>(d);
    const double ready = ready_[d] = ready_ms(d);
    sum_ready_ms_ += ready;
    const double own = own_ms(s.compute_ms[d], s.columns[d], static_cast<double>(s.lookups[d]));
    square_ += own * own;
    if (ready > ready_[static_cast<std::size_t>(last_)]) last_ = device;
    if (ready < ready_[static_cast<std::size_t>(first_)]) first_ = device;
    if (s.total_ms[d] > slowest_ms) {
      second_ms = std::exchange(slowest_ms, s.total_ms[d]);
      second_ = std::exchange(slowest_, device);
    } else if (s.total_ms[d] > second_ms) {
      second_ms = s.total_ms[d];
      second_ = device;
    }
    if (s.columns[d] > s.columns[static_cast<std::size_t>(widest_)]) widest_ = device;
    if (s.lookups[d] > s.lookups[static_cast<std::size_t>(busiest_)]) busiest_ = device;
  }
}

void EditPrices::apply(const Edit& edit) {
  PlanSums& s = sums_of_;
  const bool was_idle = s.slices == 0;
  state_.apply(edit);
  if (!edit.replicate.empty() || !edit.unreplicate.empty()) price_replicas();
  if (was_idle) {
    price_heads();
    return price_exchanges();
  }
  rows_ = 0;
  for (const int d : state_.touched()) {
    new_row(s.embeddings.data() + static_cast<std::size_t>(d) * width_);
  }
  heads_.resize(rows_);
  if (rows_ > 0) models_->compute({sums_.data(), rows_ * width_}, heads_);
  head_evaluations_ += rows_;
  std::size_t row = 0;
  for (const int device : state_.touched()) {
    const auto d = static_cast<std::size_t>(device);
    s.compute_ms[d] = compute_ms(d, heads_[row++], s.shards[d], s.price_ms[d]);
  }
  price_exchanges();
}

void EditPrices::undo(const PlanSums& before) {
  state_.undo(before);
  accepted_since_ = 0;
  rank();
}

// ---------------------------------------------------------------------------------- batches

void EditPrices::begin() {
  trials_.clear();
  touched_.clear();
  rows_ = 0;
  seen_rows_.clear();
}

std::size_t EditPrices::new_row(const float* sum) {
  const std::size_t at = rows_ * width_;
  if (sums_.size() < at + width_) sums_.resize(2 * (at + width_));
  std::copy_n(sum, width_, sums_.data() + at);
  return rows_++;
}

void EditPrices::add(const Edit& edit, double limit_ms) {
  Trial& trial = trials_.emplace_back();
  trial.first = touched_.size();
  trial.limit_ms = limit_ms;
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
    touched_.push_back({.device = device,
                        .row = new_row(s.embeddings.data() + d * width_),
                        .shards = s.shards[d],
                        .columns = s.columns[d],
                        .compute_ms = 0.0F,
                        .backward_ms = s.backward_ms[d],
                        .lookups = s.lookups[d],
                        .bytes = s.bytes[d],
                        .price_ms = s.price_ms[d],
                        .ready_ms = 0.0});
  }
  Touched& touched = touched_[slots_[d]];
  const ShardLoad& load = catalog_.load(shard);
  touched.columns += static_cast<float>(sign * load.columns);
  touched.lookups += sign * load.lookups;
  touched.bytes += sign * load.bytes;
  touched.price_ms += sign * load.price_ms;
  touched.shards += sign;
  float* const sum = sums_.data() + touched.row * width_;
  const float* const embedding = catalog_.embedding(shard);
  const auto factor = static_cast<float>(sign);
  for (std::size_t i = 0; i < width_; ++i) sum[i] += factor * embedding[i];
}

const std::vector<EditPrice>& EditPrices::run() {
  edits_ += trials_.size();
  prices_.assign(trials_.size(), {});
  heads_.resize(rows_);
  if (rows_ > 0) models_->compute({sums_.data(), rows_ * width_}, heads_);
  head_evaluations_ += rows_;
  for (std::size_t i = 0; i < trials_.size(); ++i) look_first(trials_[i], prices_[i]);
  answer_backward();
  if (!models_->symmetric()) return prices_;
  for (Trial& trial : trials_) {
    if (!trial.refused) ask_bound(trial);
  }
  const std::vector<float>& forward_ms = answer_forward();
  std::size_t row = 0;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (!trials_[i].refused) take_bound(trials_[i], prices_[i], forward_ms[row++]);
  }
  return prices_;
}

const EditPrice& EditPrices::price(std::size_t index) {
  Trial& trial = trials_[index];
  if (models_->symmetric()) {
    price_decisive(trial, prices_[index]);
  } else {
    price_together(trial, prices_[index]);
  }
  return prices_[index];
}

// Heads, memory, columns and ids; asks for backward costs.
void EditPrices::look_first(Trial& trial, EditPrice& price) {
  const PlanSums& s = sums_of_;
  std::int64_t missing = s.missing_bytes;
  double latest = -kNever;
  trial.square = square_;
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    Touched& touched = touched_[i];
    const auto d = static_cast<std::size_t>(touched.device);
    touched.compute_ms = compute_ms(d, heads_[touched.row], touched.shards, touched.price_ms);
    latest = std::max(
        latest, static_cast<double>(touched.compute_ms) + static_cast<double>(s.backward_ms[d]));
    const double own =
        own_ms(touched.compute_ms, touched.columns, static_cast<double>(touched.lookups));
    const double before = own_ms(s.compute_ms[d], s.columns[d], static_cast<double>(s.lookups[d]));
    trial.square += own * own - before * before;
    missing += missing_of(d, touched.bytes) - missing_of(d, s.bytes[d]);
  }
  price.missing_bytes = missing;
  const double delay = std::max(0.0, latest - ready_[static_cast<std::size_t>(last_)]);
  const double guides = guide_ms(trial.square) + memory_ms(missing, s.cost_ms);
  const auto refuse = [&](double ids_ms) {
    trial.refused = delay > 0.0 && trial.end - trial.first <= 2 &&
                    s.cost_ms - s.ids_ms + ids_ms + kCertainDelay * delay + guides > trial.limit_ms;
    if (trial.refused) price = {kNever, kNever, missing};
    return trial.refused;
  };
  if (refuse(0.0)) return;
  look_at_lookups(trial);
  if (refuse(trial.ids_ms)) return;
  look_at_columns(trial);
}

void EditPrices::look_at_lookups(Trial& trial) {
  const PlanSums& s = sums_of_;
  trial.ids_ms = s.ids_ms;
  if (!ids_.priced()) return;
  const bool same = std::all_of(
      touched_.begin() + static_cast<std::ptrdiff_t>(trial.first),
      touched_.begin() + static_cast<std::ptrdiff_t>(trial.end), [&](const Touched& touched) {
        return touched.lookups == s.lookups[static_cast<std::size_t>(touched.device)];
      });
  if (same) return;
  trial_lookups_ = s.lookups;
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    trial_lookups_[static_cast<std::size_t>(touched_[i].device)] = touched_[i].lookups;
  }
  trial.ids_ms = ids_.ms(id_columns(most_lookups_seen(nodes_, trial_lookups_)));
}

void EditPrices::look_at_columns(Trial& trial) {
  const PlanSums& s = sums_of_;
  trial.range = range_of(s.seen.data(), device_count_);
  const Range before = trial.range;
  bool same = true;
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    same &= touched_[i].columns == s.columns[static_cast<std::size_t>(touched_[i].device)];
  }
  if (same) return;
  trial.seen = seen_rows_.size();
  seen_rows_.insert(seen_rows_.end(), s.columns.begin(), s.columns.end());
  const std::span<float> seen(seen_rows_.data() + trial.seen, device_count_);
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    seen[static_cast<std::size_t>(touched_[i].device)] = touched_[i].columns;
  }
  if (!models_->symmetric()) return;
  if (nodes_ != nullptr) {
    const std::vector<float> columns(seen.begin(), seen.end());
    nodes_->see(columns, seen);
  }
  trial.range = range_of(seen.data(), device_count_);
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    ask_backward(seen[static_cast<std::size_t>(touched_[i].device)], trial.range,
                 &touched_[i].backward_ms);
  }
  if (trial.range == before) {
    trial.last_backward_ms = s.backward_ms[static_cast<std::size_t>(last_)];
  } else {
    ask_backward(seen[static_cast<std::size_t>(last_)], trial.range, &trial.last_backward_ms);
  }
}

EditPrices::Range EditPrices::range_of(const float* seen, std::size_t devices) {
  Range range{.most = seen[0], .least = seen[0]};
  double sum = 0.0;  // Exact: of multiples of a sixteenth.
  for (std::size_t d = 0; d < devices; ++d) {
    sum += static_cast<double>(seen[d]);
    range.most = std::max(range.most, seen[d]);
    range.least = std::min(range.least, seen[d]);
  }
  range.mean = static_cast<float>(sum / static_cast<double>(devices));
  return range;
}

bool EditPrices::is_touched(const Trial& trial, int device) const {
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    if (touched_[i].device == device) return true;
  }
  return false;
}

// Devices that the edit leaves alone are taken to be shifted all alike by its range of columns.
void EditPrices::ask_bound(Trial& trial) {
  const PlanSums& s = sums_of_;
  const auto last = static_cast<std::size_t>(last_);
  trial.shift_ms = trial.seen == Trial::kSame ? 0.0
                                              : static_cast<double>(trial.last_backward_ms) -
                                                    static_cast<double>(s.backward_ms[last]);
  double sum = sum_ready_ms_;
  double latest = is_touched(trial, last_) ? -kNever : ready_[last];
  trial.bound_by = last_;
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    Touched& touched = touched_[i];
    touched.ready_ms = static_cast<double>(touched.compute_ms) +
                       static_cast<double>(touched.backward_ms) - trial.shift_ms;
    sum += touched.ready_ms - ready_[static_cast<std::size_t>(touched.device)];
    if (touched.ready_ms > latest) {
      latest = touched.ready_ms;
      trial.bound_by = touched.device;
    }
  }
  double first = kNever;
  double most = -kNever;
  const auto exchange_ready = [&] {
    for (std::size_t i = trial.first; i < trial.end; ++i) {
      std::swap(touched_[i].ready_ms, ready_[static_cast<std::size_t>(touched_[i].device)]);
    }
  };
  exchange_ready();
  for (std::size_t d = 0; d < device_count_; ++d) {
    first = std::min(first, ready_[d]);
    most = std::max(most, ready_[d]);
  }
  exchange_ready();
  trial.bound_ready_ms = latest + trial.shift_ms;
  ask_forward(seen_by(trial)[trial.bound_by], latest - first, trial.range,
              sum / static_cast<double>(device_count_) - first, most - first);
}

void EditPrices::take_bound(Trial& trial, EditPrice& price, float forward_ms) const {
  price.cost_ms = trial.bound_ready_ms + forward_ms +
                  sums_of_.replicas_ms / speed(static_cast<std::size_t>(trial.bound_by)) +
                  trial.ids_ms + sums_of_.all_reduce_ms;
  set_objective(trial, price);
}

void EditPrices::set_objective(const Trial& trial, EditPrice& price) const {
  price.objective_ms =
      price.cost_ms + guide_ms(trial.square) + memory_ms(price.missing_bytes, price.cost_ms);
}

void EditPrices::set_trial_ready(const Trial& trial) {
  const PlanSums& s = sums_of_;
  if (!all_decide_ || trial.seen == Trial::kSame) {
    trial_ready_ = ready_;
    for (std::size_t i = trial.first; i < trial.end; ++i) {
      trial_ready_[static_cast<std::size_t>(touched_[i].device)] = touched_[i].ready_ms;
    }
    return;
  }
  ask_backward_of_all(trial);
  for (std::size_t d = 0; d < device_count_; ++d) {
    trial_ready_[d] =
        static_cast<double>(s.compute_ms[d]) + static_cast<double>(trial_backward_ms_[d]);
  }
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    const auto d = static_cast<std::size_t>(touched_[i].device);
    trial_ready_[d] =
        static_cast<double>(touched_[i].compute_ms) + static_cast<double>(trial_backward_ms_[d]);
  }
}

void EditPrices::ask_backward_of_all(const Trial& trial) {
  const float* const seen = seen_by(trial);
  for (std::size_t d = 0; d < device_count_; ++d) {
    ask_backward(seen[d], trial.range, &trial_backward_ms_[d]);
  }
  answer_backward();
}

void EditPrices::price_decisive(Trial& trial, EditPrice& price) {
  decisive_.clear();
  set_trial_ready(trial);
  if (all_decide_ && trial.seen != Trial::kSame) trial.shift_ms = 0.0;
  double first = kNever;
  double most_ready = -kNever;
  double sum = 0.0;
  for (std::size_t d = 0; d < device_count_; ++d) {
    first = std::min(first, trial_ready_[d]);
    most_ready = std::max(most_ready, trial_ready_[d]);
    sum += trial_ready_[d];
  }
  const float* const seen = seen_by(trial);
  const auto ask = [&](int device) {
    const auto d = static_cast<std::size_t>(device);
    decisive_.push_back({device, trial_ready_[d] + trial.shift_ms, 0.0});
    ask_forward(seen[d], trial_ready_[d] - first, trial.range,
                sum / static_cast<double>(device_count_) - first, most_ready - first);
  };
  if (all_decide_) {
    for (std::size_t d = 0; d < device_count_; ++d) ask(static_cast<int>(d));
  } else {
    for (std::size_t i = trial.first; i < trial.end; ++i) ask(touched_[i].device);
    const std::array others = {slowest_, second_, last_, first_};
    for (auto other = others.begin(); other != others.end(); ++other) {
      if (std::find(others.begin(), other, *other) == other && !is_touched(trial, *other)) {
        ask(*other);
      }
    }
  }
  const std::vector<float>& forward_ms = answer_forward();
  double most = -kNever;
  for (std::size_t i = 0; i < decisive_.size(); ++i) {
    Decides& one = decisive_[i];
    one.total_ms = one.ready_ms + forward_ms[i] +
                   sums_of_.replicas_ms / speed(static_cast<std::size_t>(one.device));
    most = std::max(most, one.total_ms);
  }
  price.cost_ms = most + trial.ids_ms + sums_of_.all_reduce_ms;
  set_objective(trial, price);
}

// By networks that look at all devices at once.
void EditPrices::price_together(Trial& trial, EditPrice& price) {
  const PlanSums& s = sums_of_;
  decisive_.clear();
  trial_compute_ms_ = s.compute_ms;
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    trial_compute_ms_[static_cast<std::size_t>(touched_[i].device)] = touched_[i].compute_ms;
  }
  const std::span<const float> columns(
      trial.seen == Trial::kSame ? s.columns.data() : seen_rows_.data() + trial.seen,
      device_count_);
  forward_rows_.resize(device_count_);
  forward_answers_.resize(device_count_);
  models_->backward(columns, trial_backward_ms_);
  start_offsets(trial_compute_ms_.data(), trial_backward_ms_.data(), state_.task().devices,
                forward_rows_.data());
  models_->forward(columns, forward_rows_, forward_answers_);
  ++comm_evaluations_;
  double most = -kNever;
  for (std::size_t d = 0; d < device_count_; ++d) {
    const double ready =
        static_cast<double>(trial_compute_ms_[d]) + static_cast<double>(trial_backward_ms_[d]);
    const double total = ready + forward_answers_[d] + s.replicas_ms / speed(d);
    decisive_.push_back({static_cast<int>(d), ready, total});
    most = std::max(most, total);
  }
  forward_rows_.clear();
  price.cost_ms = most + trial.ids_ms + s.all_reduce_ms;
  set_objective(trial, price);
}

void EditPrices::accept(const Edit& edit, std::size_t index) {
  const Trial& trial = trials_[index];
  PlanSums& s = sums_of_;
  state_.apply(edit);
  for (std::size_t i = trial.first; i < trial.end; ++i) {
    s.compute_ms[static_cast<std::size_t>(touched_[i].device)] = touched_[i].compute_ms;
  }
  const bool many = trial.end - trial.first > 4;
  if (!all_decide_ && (many || ++accepted_since_ >= kAcceptedBetween)) {
    return price_exchanges();
  }
  if (trial.seen != Trial::kSame) {
    if (models_->symmetric()) {
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
    s.total_ms[static_cast<std::size_t>(one.device)] = one.total_ms;
  }
  s.ids_ms = trial.ids_ms;
  s.cost_ms = prices_[index].cost_ms;
  s.missing_bytes = prices_[index].missing_bytes;
  rank();
}

// --------------------------------------------------------------------------- communication

// Columns recur: most backward costs have been asked for lately.
void EditPrices::ask_backward(float columns, const Range& range, float* to) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const std::uint32_t hash = bits(columns) * 2654435761U ^ bits(range.most) * 2246822519U ^
                             bits(range.least) * 3266489917U ^ bits(range.mean) * 668265263U;
  const std::size_t at = (hash >> 16U) % kBackwardCosts;
  const Remembered& entry = remembered_[at];
  if (entry.columns == columns && entry.range == range) {
    *to = entry.ms;
    return;
  }
  missing_.push_back({to, at});
  const std::array<float, kSymmetricCommFeatures> row = {
      columns, 0.0F, range.mean, range.most, range.least, 0.0F, 0.0F, log2_devices_};
  backward_rows_.insert(backward_rows_.end(), row.begin(), row.end());
}

void EditPrices::answer_backward() {
  if (missing_.empty()) return;
  backward_answers_.resize(missing_.size());
  models_->backward_rows(backward_rows_, backward_answers_);
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    const float* const row = backward_rows_.data() + i * kSymmetricCommFeatures;
    *missing_[i].to = backward_answers_[i];
    remembered_[missing_[i].entry] = {row[0], {row[2], row[3], row[4]}, backward_answers_[i]};
  }
  missing_.clear();
  backward_rows_.clear();
}

void EditPrices::ask_forward(float columns, double offset_ms, const Range& range,
                             double mean_offset_ms, double most_offset_ms) {
  const std::array<float, kSymmetricCommFeatures> row = {columns,
                                                         static_cast<float>(offset_ms),
                                                         range.mean,
                                                         range.most,
                                                         range.least,
                                                         static_cast<float>(mean_offset_ms),
                                                         static_cast<float>(most_offset_ms),
                                                         log2_devices_};
  forward_rows_.insert(forward_rows_.end(), row.begin(), row.end());
}

const std::vector<float>& EditPrices::answer_forward() {
  const std::size_t rows = forward_rows_.size() / kSymmetricCommFeatures;
  forward_answers_.resize(rows);
  if (rows > 0) models_->forward_rows(forward_rows_, forward_answers_);
  comm_evaluations_ += rows;
  forward_rows_.clear();
  return forward_answers_;
}

}  // namespace neuroshard
