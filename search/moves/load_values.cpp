#include "search/moves/load_values.h"

namespace neuroshard {
namespace {

/// Columns beyond the most that a device should have count so many times.
constexpr double kBeyondColumns = 10.0;

}  // namespace

LoadValues::LoadValues(const PlanSums& sums, const StatePrices& prices)
    : sums_(sums),
      prices_(prices),
      devices_(static_cast<std::size_t>(prices.state().task().devices)),
      blocks_((devices_ + kDevicesOfBlock - 1) / kDevicesOfBlock) {}

void LoadValues::begin(double most_columns) {
  most_columns_ = most_columns;
  const std::size_t all = devices_ + blocks_;
  compute_ms_.resize(all);
  columns_.resize(all);
  ids_.resize(all);
  free_bytes_.resize(all);
  room_bytes_.resize(all);
  speeds_.resize(all);
  values_.resize(all);
  is_changed_.assign(blocks_, 0);
  changed_.clear();
  most_ = {};
  for (std::size_t d = 0; d < devices_; ++d) {
    room_bytes_[d] = prices_.room_bytes(static_cast<int>(d));
    speeds_[d] = prices_.speed(d);
    take_in(d);
  }
  for (std::size_t b = 0; b < blocks_; ++b) see_block(b);
}

void LoadValues::take_in(std::size_t device) {
  compute_ms_[device] = sums_.compute_ms[device];
  columns_[device] = sums_.columns[device];
  ids_[device] = sums_.ids[device];
  free_bytes_[device] = room_bytes_[device] - sums_.bytes[device];
  most_.see(sums_, device);
}

void LoadValues::grow(int device) {
  const auto d = static_cast<std::size_t>(device);
  take_in(d);
  const std::size_t block = d / kDevicesOfBlock;
  if (is_changed_[block] != 0) return;
  is_changed_[block] = 1;
  changed_.push_back(block);
}

void LoadValues::see_block(std::size_t block) {
  const std::size_t first = block * kDevicesOfBlock;
  const std::size_t end = std::min(devices_, first + kDevicesOfBlock);
  const std::size_t to = devices_ + block;
  compute_ms_[to] = compute_ms_[first];
  columns_[to] = columns_[first];
  ids_[to] = ids_[first];
  free_bytes_[to] = free_bytes_[first];
  room_bytes_[to] = room_bytes_[first];
  speeds_[to] = speeds_[first];
  for (std::size_t d = first + 1; d < end; ++d) {
    compute_ms_[to] = std::min(compute_ms_[to], compute_ms_[d]);
    columns_[to] = std::min(columns_[to], columns_[d]);
    ids_[to] = std::min(ids_[to], ids_[d]);
    free_bytes_[to] = std::max(free_bytes_[to], free_bytes_[d]);
    room_bytes_[to] = std::max(room_bytes_[to], room_bytes_[d]);
    speeds_[to] = std::max(speeds_[to], speeds_[d]);
  }
}

void LoadValues::begin_shard(int shard) {
  const ShardLoad& load = prices_.state().catalog().load(shard);
  added_ = {prices_.added_ms(shard), load.columns, load.ids, load.bytes + sums_.replica_bytes,
            &load};
  for (const std::size_t block : changed_) {
    see_block(block);
    is_changed_[block] = 0;
  }
  changed_.clear();
  set_values(devices_, devices_ + blocks_);
}

void LoadValues::set_values(std::size_t first, std::size_t end) {
  const PlaceValue places(prices_, most_);
  const double beyond_ms = kBeyondColumns * prices_.ms_of_column();
  for (std::size_t d = first; d < end; ++d) {
    const double columns = static_cast<double>(columns_[d]) + added_.columns;
    const double value =
        places.of(compute_ms_[d] + added_.compute_ms / speeds_[d], columns, ids_[d] + added_.ids) +
        beyond_ms * std::max(0.0, columns - most_columns_);
    values_[d] = PlaceValue::lacking(std::max(value, fetching_ms(d)), added_.bytes - free_bytes_[d],
                                     room_bytes_[d], sums_.cost_ms);
  }
}

double LoadValues::fetching_ms(std::size_t device) const {
  if (!prices_.prefetches() || device >= devices_) return kNoPrefetch;
  HostCurve hosted = sums_.hosted[device];
  hosted.add(prices_.state().catalog().hosted(*added_.load, device));
  return PlaceValue::of_own(prices_.prefetched_ms(device, &hosted));
}

std::size_t LoadValues::block_of_least_bound() const {
  const auto first = values_.begin() + static_cast<std::ptrdiff_t>(devices_);
  return static_cast<std::size_t>(std::min_element(first, values_.end()) - first);
}

double LoadValues::value(std::size_t device, int shard) {
  begin_shard(shard);
  set_values(device, device + 1);
  return values_[device];
}

}  // namespace neuroshard
