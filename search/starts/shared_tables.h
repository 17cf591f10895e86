#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tables/table_groups.h"
#include "neuroshard/task.h"
#include "search/layout.h"
#include "search/piece_catalog.h"

namespace neuroshard {

/// A table as the devices see it that may hold it.
struct SharedTable {
  std::uint32_t table = 0;
  std::vector<std::uint32_t> devices;
  std::uint32_t unit = 0;  ///< The narrowest piece.
  std::uint32_t units = 0;
  /// Of the whole table, rounded down. No slices take less for each of their units.
  std::int64_t least_unit_bytes = 0;
  std::vector<std::int64_t> bytes;  ///< Of a slice of 1, 2, 4, ... units.
  std::size_t most_slices = 0;

  /// The fewest slices of so many units take the least memory.
  [[nodiscard]] std::int64_t bytes_of(std::uint32_t some) const {
    std::int64_t total = 0;
    for (; some != 0; some &= some - 1) {
      total += bytes[static_cast<std::size_t>(std::countr_zero(some))];
    }
    return total;
  }
};

/// All tables: those that few devices may hold come first, and of these the largest.
[[nodiscard]] std::vector<SharedTable> shared_tables(const PieceCatalog& catalog, const Task& task);

/// Units of each table on each of its devices.
using Sharing = std::vector<std::vector<std::uint32_t>>;

/// The fewest slices that have so many columns together.
[[nodiscard]] Layout layout_of(const std::vector<SharedTable>& tables, const Sharing& sharing);

/// Which devices the groups of tables that are placed one after the other have taken.
class TakenDevices {
 public:
  TakenDevices(const ApartTables& apart, std::size_t tables, std::size_t devices);

  /// 64 groups in each.
  [[nodiscard]] std::span<const std::uint64_t> groups_on(std::size_t device) const {
    return std::span(taken_).subspan(device * words_, words_);
  }
  /// Whether a device holds no table that groups keep from this one, itself left out.
  [[nodiscard]] bool may_hold(std::size_t device, std::size_t table) const {
    for (std::size_t word = 0; word < words_; ++word) {
      if ((taken_[device * words_ + word] & masks_[table * words_ + word]) != 0) return false;
    }
    return true;
  }
  /// The table is on the device, where no other of its groups is, or no more.
  void mark(std::size_t device, std::size_t table, bool taken) {
    for (std::size_t word = 0; word < words_; ++word) {
      std::uint64_t& groups = taken_[device * words_ + word];
      const std::uint64_t mask = masks_[table * words_ + word];
      groups = taken ? groups | mask : groups & ~mask;
    }
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> taken_;  ///< [devices][words]
  std::vector<std::uint64_t> masks_;  ///< [tables][words]
};

}  // namespace neuroshard
