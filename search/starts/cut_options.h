#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuroshard/stop_condition.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// Compute time, columns and ids, in milliseconds of a device.
inline constexpr std::size_t kLoadTimes = 3;
inline constexpr std::size_t kColumnsLoad = 1;
inline constexpr std::size_t kIdsLoad = kLoadTimes - 1;
using LoadTimes = std::array<double, kLoadTimes>;
/// These times, and the share of a device's room.
using CutLoads = std::array<double, kLoadTimes + 1>;

inline constexpr double kLeastCutMs = 1e-9;  ///< So that nothing costs nothing.

/// A cut of a table, and what it takes of devices.
struct CutOption {
  TableCut cut;
  bool in_blocks = false;   ///< Rows are.
  LoadTimes mean_ms{};      ///< A device's share.
  CutLoads largest{};       ///< Loads of the shard that has most of each.
  double replica_ms = 0.0;  ///< On every device, and for gradients, beside others.
  double once_ms = 0.0;     ///< More if there are no others.
  int replica = -1;         ///< The shard; -1: no device looks up the table for itself.
  double dense_bytes = 0.0;
  double update_ms = 0.0;
  std::int64_t bytes = 0;  ///< On all devices together.
  bool fits = true;        ///< Its largest shard beside others, and all of it alone.
};

/// All cuts that a WayLadder chooses from, of all tables.
class CutOptions {
 public:
  using Groups = std::vector<std::vector<std::size_t>>;  ///< Indices of PlanState::tables().

  /// Asks for what it needs of each table in each way. Borrows both. Once `stop` is reached there
  /// are none.
  CutOptions(const PlanState& state, StatePrices& prices, const StopCondition& stop);

  [[nodiscard]] std::size_t tables() const { return options_.size(); }
  [[nodiscard]] const std::vector<CutOption>& of(std::size_t table) const {
    return options_[table];
  }
  /// Tables that may be cut alike, together.
  [[nodiscard]] const Groups& alike() const { return alike_; }

  [[nodiscard]] double all_reduce_ms(double dense_bytes) const;
  /// All devices wait for the slowest one's replicas.
  [[nodiscard]] double least_speed() const { return least_speed_; }
  /// Room of all devices together.
  [[nodiscard]] double room_bytes() const { return room_bytes_; }

 private:
  void add(const PlanState& state, int table);

  ShardCatalog& catalog_;
  StatePrices& prices_;
  double devices_;
  double speed_ = 0.0;  ///< Mean of devices, where any of them may have a shard.
  double least_speed_ = 1.0;
  double room_bytes_ = 0.0;
  double least_room_bytes_ = 1.0;  ///< Room of the device that has least.
  std::vector<std::vector<CutOption>> options_;
  Groups alike_;
};

/// Adds a table to the group whose first one is alike, or to one of its own.
template <typename IsAlike>
void join(CutOptions::Groups& groups, std::size_t table, const IsAlike& is_alike) {
  const auto alike = std::ranges::find_if(
      groups, [&](const std::vector<std::size_t>& group) { return is_alike(group.front()); });
  if (alike == groups.end()) {
    groups.push_back({table});
  } else {
    alike->push_back(table);
  }
}

}  // namespace neuroshard
