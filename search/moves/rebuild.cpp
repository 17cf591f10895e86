#include "search/moves/rebuild.h"

#include <algorithm>
#include <functional>

#include "search/state/plan_limits.h"

namespace neuroshard {
namespace {

/// A device should have no more of the mean of columns.
constexpr double kShareOfColumns = 1.03;
/// All that may be moved is worth this share of the plan's cost.
constexpr double kShareOfMoves = 0.02;
/// Slices on groups of devices are placed before those on single ones.
constexpr double kGroupsFirst = 1e6;
constexpr double kLeastOfAllMs = 1e-9;
/// Heads between looks at the stop condition.
constexpr std::size_t kLookAfterHeads = 4096;

int half_of(int width) { return width / kDimMultiple / 2 * kDimMultiple; }

}  // namespace

Rebuild::Rebuild(const PlanState& state, StatePrices& prices, Random& random)
    : state_(state),
      prices_(prices),
      random_(random),
      width_(state.catalog().embedding_width()),
      devices_(static_cast<std::size_t>(state.task().devices)),
      by_loads_(sums_, prices),
      is_changed_(devices_, 0),
      known_heads_(kKnownHeads),
      versions_(devices_),
      trial_sums_(devices_ * width_),
      heads_(devices_),
      values_(devices_) {}

void Rebuild::begin() {
  edit_.clear();
  pending_.clear();
  apart_ = {};
  changed_.clear();
  std::ranges::fill(is_changed_, 0);
  sums_ = state_.sums;
  std::ranges::fill(versions_, ++last_version_);
  valued_shard_ = -1;
  left_bytes_ = kAnyBytes;
  if (state_.moved() == nullptr) return;
  left_bytes_ = state_.moved()->terms().most_moved_bytes;
  count(sums_.moved_bytes);
}

void Rebuild::count(std::int64_t moved_bytes) {
  if (left_bytes_ != kAnyBytes) left_bytes_ -= moved_bytes;
}

bool Rebuild::affords_replica(int table) const {
  return left_bytes_ == kAnyBytes ||
         state_.moved()->of_everywhere(table, Way::kReplica) -
                 state_.sums.moved_of_table[static_cast<std::size_t>(table)] <=
             left_bytes_;
}

void Rebuild::load(int device, int shard, int sign) {
  const auto d = static_cast<std::size_t>(device);
  const ShardLoad& load = state_.catalog().load(shard);
  sums_.columns[d] += static_cast<float>(sign * load.columns);
  sums_.ids[d] += sign * load.ids;
  sums_.bytes[d] += sign * load.bytes;
  sums_.price_ms[d] += sign * load.price_ms;
  if (load.hosted != nullptr) {
    sums_.hosted[d].add(state_.catalog().hosted(load, d), sign);
  }
  sums_.shards[d] += sign;
  if (is_by_loads_) {
    sums_.compute_ms[d] += static_cast<float>(sign * prices_.added_ms(shard) / prices_.speed(d));
    return by_loads_.grow(device);
  }
  const float* const embedding = state_.catalog().embedding(shard);
  float* const sum = sums_.embeddings.data() + d * width_;
  const auto factor = static_cast<float>(sign);
  for (std::size_t i = 0; i < width_; ++i) sum[i] += factor * embedding[i];
  versions_[d] = ++last_version_;
  if (shard == valued_shard_) return price(d, valued_heads_[d]);
  if (is_changed_[d] != 0) return;
  is_changed_[d] = 1;
  changed_.push_back(device);
}

void Rebuild::load(const StateSlice& slice, int sign) {
  if (slice.way == Way::kReplica) {
    sums_.replica_bytes += sign * state_.catalog().replica_load(slice.table).bytes;
  }
  state_.for_each_shard(slice, [&](int device, int shard) { load(device, shard, sign); });
}

void Rebuild::take_out(int table) {
  if (state_.moved() != nullptr) {
    count(-sums_.moved_of_table[static_cast<std::size_t>(table)]);
  }
  for (const int id : state_.of_table(table)) {
    edit_.out.push_back(id);
    load(state_.slice(id), -1);
  }
}

void Rebuild::replace(int table) {
  if (state_.of_table(table).empty() || state_.ways().is_everywhere(state_.way_of(table))) return;
  for (const int id : state_.of_table(table)) pending_.push_back({state_.slice(id), 0.0});
  take_out(table);
}

void Rebuild::put_in(int table, TableCut cut) {
  const TableWays::OfTable& ways = state_.ways().of(table);
  const bool everywhere = state_.ways().is_everywhere(cut.way);
  if (!ways.may_be(cut.way) || (everywhere && left_bytes_ != kAnyBytes &&
                                state_.moved()->of_everywhere(table, cut.way) > left_bytes_)) {
    cut.way = state_.way_of(table);
  }
  for (const int width : state_.ways().widths(table, cut.way, cut.slices)) {
    const StateSlice slice{table, width, cut.way, 0};
    if (state_.ways().is_everywhere(cut.way)) {
      put(slice);
    } else {
      pending_.push_back({slice, 0.0});
    }
  }
}

void Rebuild::put(const StateSlice& slice) {
  edit_.in.push_back(slice);
  if (MovedBytes* const moved = state_.moved()) {
    count(state_.ways().is_everywhere(slice.way) ? moved->of_everywhere(slice.table, slice.way)
                                                 : moved->about(slice));
  }
  load(slice, 1);
}

void Rebuild::price(std::size_t device, float head_ms) {
  sums_.compute_ms[device] = prices_.compute_ms(device, head_ms, sums_.shards[device],
                                                sums_.price_ms[device], hosted(device));
}

void Rebuild::price_changed() {
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    std::copy_n(sums_.embeddings.begin() + changed_[i] * static_cast<std::ptrdiff_t>(width_),
                width_, trial_sums_.begin() + static_cast<std::ptrdiff_t>(i * width_));
  }
  prices_.models().compute(std::span(trial_sums_).first(changed_.size() * width_),
                           std::span(heads_).first(changed_.size()));
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const auto d = static_cast<std::size_t>(changed_[i]);
    price(d, heads_[i]);
    is_changed_[d] = 0;
  }
  changed_.clear();
}

int Rebuild::a_shard_of(const StateSlice& slice) const {
  int found = -1;
  state_.for_each_shard(slice, [&](int, int shard) { found = found < 0 ? shard : found; });
  return found;
}

std::size_t Rebuild::head_evaluations() const { return pending_.size() * devices_; }

bool Rebuild::place(double noise) {
  price_changed();
  return place_pending(noise);
}

bool Rebuild::place_by_loads(bool cuts) {
  price_changed();
  double columns = 0.0;
  for (const float of_device : sums_.columns) columns += of_device;
  for (const auto& [slice, key] : pending_) {
    state_.for_each_shard(slice,
                          [&](int, int shard) { columns += state_.catalog().load(shard).columns; });
  }
  most_columns_ = kShareOfColumns * columns / static_cast<double>(devices_);
  by_loads_.begin(most_columns_);
  is_by_loads_ = true;
  cuts_for_columns_ = cuts;
  const bool placed = place_pending(0.0);
  is_by_loads_ = cuts_for_columns_ = false;
  return placed;
}

void Rebuild::set_wide_devices() {
  double wide_ms = 0.0;
  double all_ms = 0.0;
  for (const auto& [slice, key] : pending_) {
    const double added_ms = prices_.added_ms(slice);
    all_ms += added_ms;
    if (slice.width > apart_.columns) wide_ms += added_ms;
  }
  const double filled = static_cast<double>(devices_) * wide_ms / std::max(all_ms, kLeastOfAllMs);
  wide_devices_ = static_cast<int>(filled) + apart_.more_devices;
}

bool Rebuild::place_pending(double noise) {
  if (apart_.columns > 0) set_wide_devices();
  for (auto& [slice, key] : pending_) {
    const double alone_ms = state_.catalog().alone_ms(a_shard_of(slice));
    key = (alone_ms + prices_.ms_of_column() * slice.width) * (1.0 + noise * random_.uniform()) +
          (state_.ways().is_on_device(slice.way) ? 0.0 : kGroupsFirst);
  }
  std::ranges::stable_sort(pending_, std::greater<>(), &Pending::key);
  std::size_t heads = 0;  // Since the last look at the stop condition.
  std::vector<StateSlice> parts;
  for (const Pending& pending : pending_) {
    for (parts = {pending.slice}; !parts.empty();) {
      heads += is_by_loads_ ? 0 : devices_;
      if (heads >= kLookAfterHeads) {
        heads = 0;
        if (stop_ != nullptr && stop_->reached()) return false;
      }
      StateSlice slice = parts.back();
      parts.pop_back();
      slice.place = best_place(slice, noise);
      while (slice.place >= 0 && is_too_large(slice)) {
        StateSlice half = slice;
        half.width = half_of(half.width);
        slice.width -= half.width;
        parts.push_back(half);
        slice.place = best_place(slice, noise);
      }
      if (slice.place < 0) return false;
      put(slice);
      valued_shard_ = -1;
      if (!changed_.empty()) price_changed();
    }
  }
  pending_.clear();
  return true;
}

bool Rebuild::is_too_large(const StateSlice& slice) const {
  const TableWays& ways = state_.ways();
  const TableWays::OfTable& of = ways.of(slice.table);
  const int most = of.most_slices(slice.way);
  const int dim = state_.task().tables[static_cast<std::size_t>(slice.table)].dim;
  const int half = half_of(slice.width);
  // Slices of a plan that runs are to stay as they are.
  if (half == 0 || state_.moved() != nullptr || ways.equal_widths() || most < dim / kDimMultiple ||
      !ways.may_be_wide(slice.table, half) || !ways.may_be_wide(slice.table, slice.width - half)) {
    return false;
  }
  bool has_room = true;
  bool has_columns = true;
  bool has_some_columns = true;  // Else cuts do not help.
  state_.for_each_shard(slice, [&](int device, int shard) {
    const auto d = static_cast<std::size_t>(device);
    has_room &= missing_bytes(d, shard) <= 0;
    if (!cuts_for_columns_) return;
    const double spare = most_columns_ - static_cast<double>(sums_.columns[d]);
    const double columns = state_.catalog().load(shard).columns;
    has_columns &= columns <= spare;
    has_some_columns &= columns * kDimMultiple <= spare * slice.width;
  });
  return !has_room || (!has_columns && has_some_columns);
}

std::int64_t Rebuild::missing_bytes(std::size_t device, int shard) const {
  return sums_.bytes[device] + state_.catalog().load(shard).bytes + sums_.replica_bytes -
         prices_.room_bytes(static_cast<int>(device));
}

std::span<const float> Rebuild::heads_with(int shard) {
  auto known = std::ranges::find(known_heads_, shard, &Heads::shard);
  if (known == known_heads_.end()) {
    known = known_heads_.begin() + static_cast<std::ptrdiff_t>(next_heads_);
    next_heads_ = (next_heads_ + 1) % kKnownHeads;
    known->shard = shard;
    known->ms.resize(devices_);
    known->versions.assign(devices_, 0);
  }
  unknown_.clear();
  const float* const embedding = state_.catalog().embedding(shard);
  for (std::size_t d = 0; d < devices_; ++d) {
    if (known->versions[d] == versions_[d]) continue;
    known->versions[d] = versions_[d];
    const float* const sum = sums_.embeddings.data() + d * width_;
    float* const trial = trial_sums_.data() + unknown_.size() * width_;
    for (std::size_t i = 0; i < width_; ++i) trial[i] = sum[i] + embedding[i];
    unknown_.push_back(d);
  }
  const std::size_t count = unknown_.size();
  prices_.models().compute(std::span(trial_sums_).first(count * width_),
                           std::span(heads_).first(count));
  for (std::size_t i = 0; i < count; ++i) known->ms[unknown_[i]] = heads_[i];
  return known->ms;
}

void Rebuild::value_devices(int shard) {
  const ShardLoad& load = state_.catalog().load(shard);
  const std::span<const float> heads = heads_with(shard);
  valued_shard_ = shard;
  valued_heads_ = heads;
  MostOfDevices most;
  for (std::size_t d = 0; d < devices_; ++d) most.see(sums_, d);
  const PlaceValue values(prices_, most);
  for (std::size_t d = 0; d < devices_; ++d) {
    const double price_ms = sums_.price_ms[d] + load.price_ms;
    const auto value = [&](const HostCurve* hosted) {
      return values.of(prices_.compute_ms(d, heads[d], 1, price_ms, hosted),
                       static_cast<double>(sums_.columns[d]) + load.columns,
                       sums_.ids[d] + load.ids);
    };
    if (load.hosted == nullptr) {
      values_[d] = value(nullptr);
    } else {
      HostCurve hosted = sums_.hosted[d];
      hosted.add(state_.catalog().hosted(load, d));
      values_[d] = std::max(value(&hosted), PlaceValue::of_own(prices_.prefetched_ms(d, &hosted)));
    }
    values_[d] = PlaceValue::lacking(values_[d], missing_bytes(d, shard),
                                     prices_.room_bytes(static_cast<int>(d)), sums_.cost_ms);
  }
}

bool Rebuild::is_apart_with_room(const StateSlice& slice, int shard) const {
  const int group = state_.ways().group(slice.way);
  const int first = slice.place * group;
  if (slice.width > apart_.columns ? first + group > wide_devices_ : first < wide_devices_) {
    return false;
  }
  for (int device = first; device < first + group; ++device) {
    if (missing_bytes(static_cast<std::size_t>(device), shard) > 0) return false;
  }
  return true;
}

int Rebuild::best_place(const StateSlice& slice, double noise) {
  const MovedBytes* const moved = state_.moved();
  const double ms_of_byte =
      moved == nullptr ? 0.0
                       : std::max(moved->terms().ms_per_byte,
                                  kShareOfMoves * sums_.cost_ms /
                                      static_cast<double>(std::max<std::int64_t>(
                                          1, std::min(left_bytes_, moved->total_bytes()))));
  const int shard = a_shard_of(slice);
  bool apart = apart_.columns > 0;
  const auto consider = [&](int place, double value, LeastPlace& least) {
    if (!least.is_behind(place, value)) return;
    const StateSlice there = slice.at(place);
    if (apart && !is_apart_with_room(there, shard)) return;
    if (moved != nullptr) {
      const std::int64_t bytes = moved->about(there);
      value += ms_of_byte * static_cast<double>(bytes);
      if (bytes > left_bytes_ || !least.is_behind(place, value)) return;
    }
    if (limits_allow_there(state_, edit_, there)) least = {place, value};
  };
  const int group = state_.ways().group(slice.way);
  const int places = state_.ways().places(slice.way);
  if (!is_by_loads_) value_devices(shard);
  const auto least_place = [&] {
    if (is_by_loads_) return by_loads_.least_place(shard, group, places, consider);
    LeastPlace least;
    for (int place = 0; place < places; ++place) {
      const auto first = values_.begin() + static_cast<std::ptrdiff_t>(place) * group;
      const double value = *std::max_element(first, first + group);
      consider(place, value * (noise > 0.0 ? 1.0 + noise * random_.uniform() : 1.0), least);
    }
    return least;
  };
  LeastPlace least = least_place();
  if (least.place < 0 && apart) {
    apart = false;
    least = least_place();
  }
  return least.place;
}

}  // namespace neuroshard
