#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/device_set.h"
#include "core/tables/table_groups.h"

namespace neuroshard {

/// Devices that tables have which groups keep apart, by these groups.
class TakenDevices {
 public:
  /// Borrows `apart`. None is taken.
  TakenDevices(const ApartTables& apart, std::size_t devices)
      : apart_(&apart), by_group_(apart.groups(), DeviceSet(devices)) {}

  /// Whether a group keeps `table` from what a device holds.
  [[nodiscard]] bool is_taken(std::size_t table, std::size_t device) const {
    return std::ranges::any_of(apart_->groups_of(table), [&](std::uint32_t group) {
      return by_group_[group].contains(device);
    });
  }
  void take(std::size_t table, std::size_t device) {
    for (const std::uint32_t group : apart_->groups_of(table)) by_group_[group].insert(device);
  }
  [[nodiscard]] const DeviceSet& of_group(std::uint32_t group) const { return by_group_[group]; }

 private:
  const ApartTables* apart_;
  std::vector<DeviceSet> by_group_;
};

}  // namespace neuroshard
