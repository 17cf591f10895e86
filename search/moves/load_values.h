#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/moves/place_value.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// The place of least value, the first of several.
struct LeastPlace {
  int place = -1;
  double value = std::numeric_limits<double>::infinity();

  /// Whether another place of this value comes before it.
  [[nodiscard]] bool is_behind(int other, double other_value) const {
    return !(other_value >= value) || (other_value == value && other < place);
  }
};

/// Values of places by sums of what slices compute alone. A block of devices is seen as one that
/// has the least of all that its devices have, and the most room and speed: a slice has no lower
/// value on any of them. So it looks at few of many devices.
class LoadValues {
 public:
  /// Borrows both.
  LoadValues(const PlanSums& sums, const StatePrices& prices);

  /// Takes in all sums. A device should have no more than `most_columns`.
  void begin(double most_columns);
  /// Takes in the sums of a device, which have grown.
  void grow(int device);

  /// About what the plan costs with a shard more on a device.
  [[nodiscard]] double value(std::size_t device, int shard);

  /// Calls consider(place, value, least) for all places that may become `least`, in no order. They
  /// are groups of so many devices side by side, as dear as the dearest of them with a shard more.
  /// `consider` sets `least`, to no less than the value.
  template <typename Consider>
  [[nodiscard]] LeastPlace least_place(int shard, int group, int places, const Consider& consider) {
    begin_shard(shard);
    LeastPlace least;
    const std::size_t first = block_of_least_bound();
    const auto consider_block = [&](std::size_t block) {
      const int end = std::min(places, first_place(block + 1, group));
      int place = first_place(block, group);
      if (place >= end) return;
      set_values(static_cast<std::size_t>(place) * static_cast<std::size_t>(group),
                 static_cast<std::size_t>(end) * static_cast<std::size_t>(group));
      for (; place < end; ++place) {
        const auto of_place = values_.begin() + static_cast<std::ptrdiff_t>(place) * group;
        consider(place, *std::max_element(of_place, of_place + group), least);
      }
    };
    consider_block(first);
    for (std::size_t block = 0; block < blocks_; ++block) {
      const bool may_have_less = least.is_behind(first_place(block, group), bound(block));
      if (block != first && may_have_less) consider_block(block);
    }
    return least;
  }

 private:
  static constexpr std::size_t kDevicesOfBlock = 32;

  /// The first place that begins in a block, or in one behind it.
  [[nodiscard]] static int first_place(std::size_t block, int group) {
    return (static_cast<int>(block * kDevicesOfBlock) + group - 1) / group;
  }
  void take_in(std::size_t device);
  void see_block(std::size_t block);
  void begin_shard(int shard);
  /// Sets `values_`, with the shard of begin_shard().
  void set_values(std::size_t first, std::size_t end);
  /// A device takes no less with the shard: so long it fetches behind the iteration before.
  [[nodiscard]] double fetching_ms(std::size_t device) const;
  [[nodiscard]] std::size_t block_of_least_bound() const;
  /// No device of the block has a lower value.
  [[nodiscard]] double bound(std::size_t block) const {
    const double value = values_[devices_ + block];
    // Less than nothing is less where more room is missing.
    return sums_.cost_ms + value < 0.0 ? -std::numeric_limits<double>::infinity() : value;
  }

  const PlanSums& sums_;
  const StatePrices& prices_;
  std::size_t devices_;
  std::size_t blocks_;
  double most_columns_ = 0.0;
  MostOfDevices most_;
  // [devices, then blocks]
  std::vector<float> compute_ms_;
  std::vector<float> columns_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> free_bytes_;  ///< Without replicas.
  std::vector<std::int64_t> room_bytes_;
  std::vector<double> speeds_;
  std::vector<double> values_;
  std::vector<std::size_t> changed_;  ///< Blocks.
  std::vector<char> is_changed_;
  struct Added {
    double compute_ms = 0.0;  ///< At a speed of 1.
    int columns = 0;
    std::int64_t ids = 0;
    std::int64_t bytes = 0;  ///< With all replicas.
    const ShardLoad* load = nullptr;
  } added_;
};

}  // namespace neuroshard
