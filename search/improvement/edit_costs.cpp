#include "search/improvement/edit_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/models/cost_range.h"
#include "core/models/final_cost.h"
#include "core/models/symmetric_comm_features.h"
#include "core/placement/annealing_rules.h"

namespace neuroshard {
namespace {

constexpr auto kMostRows = static_cast<std::size_t>(annealing::kMostRows);
constexpr auto kFewDevices = static_cast<std::size_t>(annealing::kFewDevices);
constexpr auto kDevicesPerAccepted = static_cast<std::size_t>(annealing::kDevicesPerAccepted);
constexpr auto kLeastAccepted = static_cast<std::size_t>(annealing::kLeastAccepted);

constexpr std::size_t kRemembered = 1024;

}  // namespace

EditCosts::EditCosts(const Backend& backend, const WorkingPlan& plan, ComputeOnDevices compute)
    : plan_(plan),
      models_(backend.cost_runner(static_cast<int>(plan.devices()))),
      devices_(plan.devices()),
      width_(static_cast<std::size_t>(backend.embedding_width())),
      compute_(std::move(compute)),
      log2_devices_(log2_of_devices(static_cast<int>(devices_))),
      nodes_(backend.nodes(static_cast<int>(devices_))),
      dim_sum_(devices_),
      columns_(devices_),
      compute_ms_(devices_),
      backward_ms_(devices_),
      forward_ms_(devices_),
      total_ms_(devices_),
      ids_(backend, static_cast<int>(devices_)),
      offsets_ms_(devices_),
      trial_dim_sum_(devices_),
      trial_backward_ms_(devices_),
      trial_forward_ms_(devices_),
      remembered_(models_->symmetric() ? kRemembered : 0) {
  const AlignedVector<float> zero(width_, 0.0F);
  models_->compute(zero, {&empty_ms_, 1});
  models_->compute({plan.sum(0), devices_ * width_}, compute_ms_);
  for (std::size_t d = 0; d < devices_; ++d) {
    compute_ms_[d] = compute_.compute_ms(d, compute_ms_[d]);
  }
  head_evaluations_ += devices_;
  synchronize();
}

void EditCosts::synchronize() {
  for (std::size_t d = 0; d < devices_; ++d) {
    dim_sum_[d] = static_cast<float>(plan_.dim_sums()[d]);
    if (plan_.on_device(static_cast<std::uint32_t>(d)).empty()) {
      compute_ms_[d] = compute_.compute_ms(d, empty_ms_);
    }
  }
  if (nodes_ == nullptr) {
    columns_ = dim_sum_;
  } else {
    all_columns_ = std::accumulate(dim_sum_.begin(), dim_sum_.end(), 0.0);
    nodes_->see(dim_sum_, columns_);
    trial_columns_ = columns_;
    trial_nodes_.clear();
    node_ranges_.resize(nodes_->nodes());
    for (std::size_t node = 0; node < node_ranges_.size(); ++node) {
      node_ranges_[node] = range_of_node(node, columns_);
    }
  }
  range_.mean = static_cast<float>(std::accumulate(columns_.begin(), columns_.end(), 0.0) /
                                   static_cast<double>(devices_));
  find_busiest();
  const int devices = static_cast<int>(devices_);
  models_->backward(dim_sum_, backward_ms_);
  start_offsets(compute_ms_.data(), backward_ms_.data(), devices, offsets_ms_.data());
  models_->forward(dim_sum_, offsets_ms_, forward_ms_);
  ++comm_evaluations_;
  for (std::size_t d = 0; d < devices_; ++d) {
    total_ms_[d] = ready_ms(static_cast<std::uint32_t>(d)) + static_cast<double>(forward_ms_[d]);
  }
  cost_ms_ =
      slowest_device_ms(compute_ms_.data(), backward_ms_.data(), forward_ms_.data(), devices);
  exact_ = true;
  accepted_ = 0;
  rank_devices();
}

void EditCosts::find_busiest() {
  if (!ids_.priced()) return;
  const std::span<const std::int64_t> lookups = plan_.lookups();
  const auto busiest = std::ranges::max_element(lookups);
  critical_.busiest = static_cast<std::uint32_t>(busiest - lookups.begin());
  ids_ms_ = ids_.ms(id_columns(most_lookups_seen(nodes_, lookups)));
  if (nodes_ == nullptr) return;
  node_lookups_.assign(nodes_->nodes(), {});
  all_lookups_ = 0;
  for (std::size_t node = 0; node < node_lookups_.size(); ++node) {
    NodeLookups& of_node = node_lookups_[node];
    for (std::size_t d = nodes_->first_of(node); d < nodes_->end_of(node); ++d) {
      of_node.sum += lookups[d];
      of_node.most = std::max(of_node.most, lookups[d]);
    }
    all_lookups_ += of_node.sum;
  }
}

std::int64_t EditCosts::most_lookups(const PlanEdit& edit, const WorkingPlan::Outcome& outcome) {
  const std::span<const std::int64_t> lookups = plan_.lookups();
  if (nodes_ != nullptr) {
    const std::array<std::size_t, 2> edited = {nodes_->node_of(edit.device(0)),
                                               nodes_->node_of(edit.device(1))};
    std::array<NodeLookups, 2> after;
    std::int64_t all = all_lookups_;
    for (std::size_t i = 0; i < (edited[0] == edited[1] ? 1U : 2U); ++i) {
      const std::size_t end = nodes_->end_of(edited[i]);
      for (std::size_t d = nodes_->first_of(edited[i]); d < end; ++d) {
        const std::int64_t of_device = d == edit.device(0)   ? outcome.lookups[0]
                                       : d == edit.device(1) ? outcome.lookups[1]
                                                             : lookups[d];
        after[i].sum += of_device;
        after[i].most = std::max(after[i].most, of_device);
      }
      all += after[i].sum - node_lookups_[edited[i]].sum;
    }
    double most = 0.0;
    for (std::size_t node = 0; node < node_lookups_.size(); ++node) {
      const NodeLookups& of_node = node == edited[0]   ? after[0]
                                   : node == edited[1] ? after[1]
                                                       : node_lookups_[node];
      most = std::max(
          most, nodes_->unrounded(node, static_cast<double>(of_node.most),
                                  static_cast<double>(of_node.sum), static_cast<double>(all)));
    }
    return std::llround(most);
  }
  const std::uint32_t busiest = *critical_.busiest;
  const std::int64_t now = lookups[busiest];
  const std::int64_t most = std::max(outcome.lookups[0], outcome.lookups[1]);
  const bool touched = edit.device(0) == busiest || edit.device(1) == busiest;
  if (!touched || most >= now) return std::max(most, now);
  std::int64_t others = most;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    if (d != edit.device(0) && d != edit.device(1)) others = std::max(others, lookups[d]);
  }
  return others;
}

void EditCosts::rank_devices() {
  critical_ = {.slowest = 0, .last_ready = 0, .widest = 0, .busiest = critical_.busiest};
  first_ready_ = 0;
  second_slowest_ = 0;
  sum_of_ready_ms_ = 0.0;
  range_.max = range_.min = columns_[0];
  double first_ms = ready_ms(0);
  double last_ms = first_ms;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    const double ready = ready_ms(d);
    sum_of_ready_ms_ += ready;
    if (ready < first_ms) {
      first_ms = ready;
      first_ready_ = d;
    }
    if (ready > last_ms) {
      last_ms = ready;
      critical_.last_ready = d;
    }
    if (total_ms_[d] > total_ms_[critical_.slowest]) {
      second_slowest_ = critical_.slowest;
      critical_.slowest = d;
    } else if (second_slowest_ == critical_.slowest || total_ms_[d] > total_ms_[second_slowest_]) {
      second_slowest_ = d;
    }
    const std::uint32_t widest = critical_.widest;
    if (columns_[d] > range_.max ||
        // All of a node may be seen to have as many.
        (columns_[d] == range_.max && dim_sum_[d] > dim_sum_[widest])) {
      range_.max = columns_[d];
      critical_.widest = d;
    }
    range_.min = std::min(range_.min, columns_[d]);
  }
}

float EditCosts::backward_ms(float columns, const ColumnRange& range) {
  const auto hash = std::bit_cast<std::uint32_t>(columns) * 2654435761U ^
                    std::bit_cast<std::uint32_t>(range.max) * 2246822519U ^
                    std::bit_cast<std::uint32_t>(range.min) * 3266489917U;
  Remembered& entry = remembered_[(hash >> 16U) % kRemembered];
  if (entry.columns != columns || entry.range != range) {
    float cost_ms = 0.0F;
    models_->backward_rows(row_of(columns, 0.0F, range, {}), {&cost_ms, 1});
    entry = {columns, range, cost_ms};
  }
  return entry.backward_ms;
}

std::array<float, kSymmetricCommFeatures> EditCosts::row_of(float columns, float offset_ms,
                                                            const ColumnRange& range,
                                                            const OffsetRange& offsets) const {
  return {columns,   offset_ms,       range.mean,     range.max,
          range.min, offsets.mean_ms, offsets.max_ms, log2_devices_};
}

void EditCosts::see_columns(bool columns_move) {
  for (Side& side : sides_) side.columns = side.dim_sum;
  if (nodes_ == nullptr) return;
  for (const std::size_t node : trial_nodes_) {
    for (std::size_t d = nodes_->first_of(node); d < nodes_->end_of(node); ++d) {
      trial_columns_[d] = columns_[d];
    }
  }
  trial_nodes_.clear();
  if (columns_move) {
    trial_nodes_.push_back(nodes_->node_of(sides_[0].device));
    const std::size_t other = nodes_->node_of(sides_[1].device);
    if (other != trial_nodes_.front()) trial_nodes_.push_back(other);
    const auto dim_sum = [&](std::size_t d) {
      for (const Side& side : sides_) {
        if (side.device == d) return static_cast<double>(side.dim_sum);
      }
      return static_cast<double>(dim_sum_[d]);
    };
    for (std::size_t i = 0; i < trial_nodes_.size(); ++i) {
      const std::size_t node = trial_nodes_[i];
      double of_node = 0.0;
      for (std::size_t d = nodes_->first_of(node); d < nodes_->end_of(node); ++d) {
        of_node += dim_sum(d);
      }
      for (std::size_t d = nodes_->first_of(node); d < nodes_->end_of(node); ++d) {
        trial_columns_[d] = nodes_->seen(node, dim_sum(d), of_node, all_columns_);
      }
      trial_ranges_[i] = range_of_node(node, trial_columns_);
    }
  }
  for (Side& side : sides_) side.columns = trial_columns_[side.device];
}

EditCosts::NodeRange EditCosts::range_of_node(std::size_t node,
                                              std::span<const float> columns) const {
  const std::size_t first = nodes_->first_of(node);
  const std::span<const float> of_node = columns.subspan(first, nodes_->end_of(node) - first);
  const auto [low, high] = std::ranges::minmax(of_node);
  return {std::accumulate(of_node.begin(), of_node.end(), 0.0), high, low};
}

EditCosts::ColumnRange EditCosts::range_after_move() const {
  ColumnRange range = range_;
  if (nodes_ != nullptr) {
    NodeRange all = trial_ranges_.front();
    const auto add = [&](const NodeRange& of_node) {
      all.sum += of_node.sum;
      all.max = std::max(all.max, of_node.max);
      all.min = std::min(all.min, of_node.min);
    };
    if (trial_nodes_.size() > 1) add(trial_ranges_.back());
    for (std::size_t node = 0; node < node_ranges_.size(); ++node) {
      if (node != trial_nodes_.front() && node != trial_nodes_.back()) add(node_ranges_[node]);
    }
    return {static_cast<float>(all.sum / static_cast<double>(devices_)), all.max, all.min};
  }
  const auto [low, high] = std::minmax(sides_[0].columns, sides_[1].columns);
  const auto held = [&](float extreme) {
    return columns_[sides_[0].device] == extreme || columns_[sides_[1].device] == extreme;
  };
  range.max = std::max(range.max, high);
  range.min = std::min(range.min, low);
  if ((held(range_.max) && high < range_.max) || (held(range_.min) && low > range_.min)) {
    range.max = high;
    range.min = low;
    for (std::uint32_t d = 0; d < devices_; ++d) {
      if (touched(d)) continue;
      range.max = std::max(range.max, columns_[d]);
      range.min = std::min(range.min, columns_[d]);
    }
  }
  return range;
}

// Whether the devices of the edit are ready so late, with all others `shift_ms` later than now,
// that the plan cannot cost less than the limit.
bool EditCosts::surely_above(double limit_ms, double shift_ms) const {
  const double last = std::max(sides_[0].ready_ms(), sides_[1].ready_ms());
  const double delay = last - ready_ms(critical_.last_ready) - shift_ms;
  return cost_ms_ + shift_ms + annealing::kCertainShareOfDelay * std::max(delay, 0.0) > limit_ms;
}

std::optional<double> EditCosts::estimate(const PlanEdit& edit, const WorkingPlan::Outcome& outcome,
                                          const float* sums, double limit_ms) {
  trial_ids_ms_ = ids_.priced() ? ids_.ms(id_columns(most_lookups(edit, outcome))) : 0.0;
  limit_ms -= ids_share_ * trial_ids_ms_;
  const std::size_t rows = edit.one_device() ? 1 : 2;
  std::array<float, 2> compute_ms;
  models_->compute({sums, rows * width_}, std::span(compute_ms).first(rows));
  head_evaluations_ += rows;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint32_t device = edit.device(i);
    sides_[i] = {.device = device,
                 .dim_sum = static_cast<float>(outcome.dim_sum[i]),
                 .compute_ms = compute_.compute_ms(
                     device, outcome.empty[i] ? empty_ms_ : compute_ms[rows == 1 ? 0 : i]),
                 .backward_ms = backward_ms_[device]};
  }
  if (surely_above(limit_ms, 0.0)) return std::nullopt;
  const bool columns_move = sides_[0].dim_sum != dim_sum_[edit.device(0)];
  const std::optional<double> cost_ms = models_->symmetric()
                                            ? estimate_symmetric(columns_move, limit_ms)
                                            : estimate_dense(columns_move, limit_ms);
  if (!cost_ms) return std::nullopt;
  estimate_ms_ = *cost_ms;
  return estimate_ms_ + ids_share_ * trial_ids_ms_;
}

std::optional<double> EditCosts::estimate_dense(bool columns_move, double limit_ms) {
  const int devices = static_cast<int>(devices_);
  trial_dim_sum_ = dim_sum_;
  if (columns_move) {
    for (const Side& side : sides_) trial_dim_sum_[side.device] = side.dim_sum;
    models_->backward(trial_dim_sum_, trial_backward_ms_);
  } else {
    trial_backward_ms_ = backward_ms_;
  }
  for (Side& side : sides_) side.backward_ms = trial_backward_ms_[side.device];
  if (columns_move && surely_above(limit_ms, 0.0)) return std::nullopt;
  const std::array<float, 2> before_ms = {compute_ms_[sides_[0].device],
                                          compute_ms_[sides_[1].device]};
  for (const Side& side : sides_) compute_ms_[side.device] = side.compute_ms;
  start_offsets(compute_ms_.data(), trial_backward_ms_.data(), devices, offsets_ms_.data());
  models_->forward(trial_dim_sum_, offsets_ms_, trial_forward_ms_);
  ++comm_evaluations_;
  const double cost_ms = slowest_device_ms(compute_ms_.data(), trial_backward_ms_.data(),
                                           trial_forward_ms_.data(), devices);
  for (std::size_t i = 0; i < 2; ++i) compute_ms_[sides_[i].device] = before_ms[i];
  return cost_ms;
}

std::optional<double> EditCosts::estimate_symmetric(bool columns_move, double limit_ms) {
  see_columns(columns_move);
  double shift_ms = 0.0;
  range_changed_ = false;
  trial_range_ = range_;
  const auto columns_after = [&](std::uint32_t device) {
    return nodes_ == nullptr ? columns_[device] : trial_columns_[device];
  };
  if (columns_move) {
    trial_range_ = range_after_move();
    for (Side& side : sides_) side.backward_ms = backward_ms(side.columns, trial_range_);
    range_changed_ = trial_range_.max != range_.max || trial_range_.min != range_.min;
    if (range_changed_) {
      // All other devices change by about as much as the one that is ready last.
      const std::uint32_t last = critical_.last_ready;
      shift_ms = static_cast<double>(backward_ms(columns_after(last), trial_range_)) -
                 static_cast<double>(backward_ms_[last]);
    }
    if (surely_above(limit_ms, std::min(shift_ms, 0.0))) return std::nullopt;
  }
  const bool others_change = range_changed_ || (columns_move && nodes_ != nullptr);

  const bool one_device = sides_[0].device == sides_[1].device;
  const auto ready_after = [&](std::uint32_t device) {
    return others_change ? static_cast<double>(compute_ms_[device]) +
                               static_cast<double>(backward_ms(columns_after(device), trial_range_))
                         : ready_ms(device);
  };
  // With few devices all are priced, and no cost is guessed.
  const bool all = devices_ <= kMostRows;
  double first = std::min(sides_[0].ready_ms(), sides_[1].ready_ms());
  double last = std::max(sides_[0].ready_ms(), sides_[1].ready_ms());
  double sum = 0.0;
  if (all) {
    sum = sides_[0].ready_ms() + (one_device ? 0.0 : sides_[1].ready_ms());
    for (std::uint32_t d = 0; d < devices_; ++d) {
      if (touched(d)) continue;
      const double ready = ready_after(d);
      sum += ready;
      first = std::min(first, ready);
      last = std::max(last, ready);
    }
  } else if (touched(first_ready_) || touched(critical_.last_ready)) {
    for (std::uint32_t d = 0; d < devices_; ++d) {
      if (touched(d)) continue;
      const double ready = ready_ms(d) + shift_ms;
      first = std::min(first, ready);
      last = std::max(last, ready);
    }
  } else {
    first = std::min(first, ready_ms(first_ready_) + shift_ms);
    last = std::max(last, ready_ms(critical_.last_ready) + shift_ms);
  }
  if (!all) {
    sum = sum_of_ready_ms_ + shift_ms * static_cast<double>(devices_);
    for (std::size_t i = 0; i < (one_device ? 1U : 2U); ++i) {
      sum += sides_[i].ready_ms() - ready_ms(sides_[i].device) - shift_ms;
    }
  }
  const OffsetRange offsets = {
      .mean_ms = static_cast<float>(std::max(sum / static_cast<double>(devices_) - first, 0.0)),
      .max_ms = static_cast<float>(last - first)};

  std::array<double, kMostRows> ready{};
  std::array<float, kMostRows> forward_ms{};
  std::size_t rows = 0;
  std::array<std::array<float, kSymmetricCommFeatures>, kMostRows> features;
  const auto put = [&](float columns, double ready_at) {
    features[rows] = row_of(columns, static_cast<float>(ready_at - first), trial_range_, offsets);
    ready[rows++] = ready_at;
  };
  put(sides_[0].columns, sides_[0].ready_ms());
  if (!one_device) put(sides_[1].columns, sides_[1].ready_ms());
  const auto put_other = [&](std::uint32_t device) {
    if (!touched(device)) put(columns_after(device), ready_after(device));
  };
  if (all) {
    for (std::uint32_t d = 0; d < devices_; ++d) put_other(d);
  } else {
    const std::array<std::uint32_t, 4> others = {critical_.slowest, second_slowest_,
                                                 critical_.last_ready, first_ready_};
    for (auto other = others.begin(); other != others.end(); ++other) {
      if (std::find(others.begin(), other, *other) == other) put_other(*other);
    }
  }
  models_->forward_rows({features.front().data(), rows * kSymmetricCommFeatures},
                        std::span(forward_ms).first(rows));
  ++comm_evaluations_;
  double slowest = -kMaxCostMs;
  for (std::size_t row = 0; row < rows; ++row) {
    const double total = ready[row] + static_cast<double>(forward_ms[row]);
    if (!is_cost(total)) return std::nullopt;
    slowest = std::max(slowest, total);
    if (row < 2) side_total_ms_[row] = total;
  }
  if (one_device) side_total_ms_[1] = side_total_ms_[0];
  return slowest;
}

void EditCosts::accept(const PlanEdit& edit) {
  for (const Side& side : sides_) compute_ms_[side.device] = side.compute_ms;
  ++accepted_;
  const std::size_t few = nodes_ == nullptr ? kFewDevices : kMostRows;
  if (!models_->symmetric() || devices_ <= few ||
      accepted_ >= std::max(kLeastAccepted, devices_ / kDevicesPerAccepted)) {
    return synchronize();
  }
  const auto refresh = [&](std::size_t first, std::size_t end) {
    for (std::size_t d = first; d < end; ++d) {
      const float before_ms = backward_ms_[d];
      backward_ms_[d] =
          backward_ms(nodes_ == nullptr ? columns_[d] : trial_columns_[d], trial_range_);
      total_ms_[d] += static_cast<double>(backward_ms_[d]) - static_cast<double>(before_ms);
    }
  };
  if (range_changed_) {
    refresh(0, devices_);
  } else {
    for (const std::size_t node : trial_nodes_)
      refresh(nodes_->first_of(node), nodes_->end_of(node));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint32_t device = edit.device(i);
    dim_sum_[device] = sides_[i].dim_sum;
    columns_[device] = sides_[i].columns;
    backward_ms_[device] = sides_[i].backward_ms;
    total_ms_[device] = side_total_ms_[i];
  }
  for (std::size_t i = 0; i < trial_nodes_.size(); ++i) {
    const std::size_t node = trial_nodes_[i];
    for (std::size_t d = nodes_->first_of(node); d < nodes_->end_of(node); ++d) {
      columns_[d] = trial_columns_[d];
    }
    node_ranges_[node] = trial_ranges_[i];
  }
  range_.mean = trial_range_.mean;
  cost_ms_ = estimate_ms_;
  exact_ = false;
  find_busiest();
  rank_devices();
}

}  // namespace neuroshard
