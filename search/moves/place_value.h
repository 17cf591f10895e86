#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// The most that any device has.
struct MostOfDevices {
  float compute_ms = std::numeric_limits<float>::lowest();
  float columns = 0.0F;
  std::int64_t ids = 0;

  void see(const PlanSums& sums, std::size_t device) {
    compute_ms = std::max(compute_ms, sums.compute_ms[device]);
    columns = std::max(columns, sums.columns[device]);
    ids = std::max(ids, sums.ids[device]);
  }
};

/// About what a plan costs with a slice more on a device, by which places are compared.
class PlaceValue {
 public:
  /// Borrows `prices`. `most`: before the slice.
  PlaceValue(const StatePrices& prices, const MostOfDevices& most)
      : prices_(prices),
        column_ms_(prices.ms_of_column()),
        unit_ms_(prices.ms_of_lookup_unit()),
        compute_ms_(most.compute_ms),
        columns_ms_(column_ms_ * static_cast<double>(most.columns)),
        ids_ms_(unit_ms_ * static_cast<double>(most.ids)) {}

  /// Arguments are those of the device with the slice. The value grows with each of them.
  [[nodiscard]] double of(double compute_ms, double columns, std::int64_t ids) const {
    const double columns_ms = column_ms_ * columns;
    const double ids_ms = unit_ms_ * static_cast<double>(ids);
    return prices_.with_ids_ms(
               std::max(compute_ms_, compute_ms) + std::max(columns_ms_, columns_ms),
               std::max(ids_ms_, ids_ms)) +
           kShareOfOwn * prices_.with_ids_ms(compute_ms + columns_ms, ids_ms);
  }

  /// If the device takes so long by itself.
  [[nodiscard]] static double of_own(double own_ms) { return (1.0 + kShareOfOwn) * own_ms; }
  /// A value where the device lacks so many bytes of its room, or none. `cost_ms`: of the plan.
  [[nodiscard]] static double lacking(double value, std::int64_t missing, std::int64_t room,
                                      double cost_ms) {
    if (missing <= 0) return value;
    return value +
           (cost_ms + value) * (kNoRoom + kAllRoom * static_cast<double>(missing) /
                                              static_cast<double>(std::max<std::int64_t>(1, room)));
  }

 private:
  /// Weight of what a device computes and exchanges itself, beside what all wait for.
  static constexpr double kShareOfOwn = 0.1;
  /// A device without room costs the plan again, and so many times for a device's room.
  static constexpr double kNoRoom = 1.0;
  static constexpr double kAllRoom = 20.0;

  const StatePrices& prices_;
  double column_ms_;
  double unit_ms_;
  double compute_ms_;
  double columns_ms_;
  double ids_ms_;
};

}  // namespace neuroshard
