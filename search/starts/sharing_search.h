#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/tables/table_groups.h"
#include "neuroshard/stop_condition.h"
#include "search/hash_of_numbers.h"
#include "search/starts/shared_tables.h"

namespace neuroshard {

/// Table after table, device after device: how many units of the one the other gets, with all ways
/// tried until one has room, or so many steps are done.
class SharingSearch {
 public:
  /// Devices that tables may go to, of all tables together: with more it gives up at once. They
  /// are decisions that stand at one time, which are a recursion.
  static constexpr std::size_t kMostPlaces = 8192;

  /// Borrows all but `rooms`. `apart`: of the task of `tables`.
  SharingSearch(const std::vector<SharedTable>& tables, std::vector<std::int64_t> rooms,
                const ApartTables& apart, bool equal_widths, const StopCondition& stop);

  /// Whether a way was found. If not, and it has not given up, there is none.
  [[nodiscard]] bool run() { return !gave_up_ && share(0); }
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  [[nodiscard]] const Sharing& sharing() const { return sharing_; }

 private:
  // Devices that the same tables may go to can take each other's place.
  void classify_devices();
  // Before each table, the groups that it or a later one is in.
  void open_groups_of(const ApartTables& apart);
  // What is left, by class and room, and by the groups that others of them are still to come of.
  // There are as many devices of each class in all states.
  [[nodiscard]] std::vector<std::int64_t> state(std::size_t t);
  /// Its devices take part in the groups of table `t`, or do so no more, until the next one's turn.
  void mark(std::size_t t, bool taken);
  /// Table `t` and those after it.
  bool share(std::size_t t);
  bool stopped();
  /// Units of the table that have room on its device `d`, if it had nothing of the table.
  [[nodiscard]] std::uint32_t fit(const SharedTable& shared, std::size_t d) const;
  // Devices do not change while those before them are given units of the same table.
  void count_fits(std::size_t t);
  // `slices`: of the table on the devices before `d`; `widths`: their units, or'ed.
  bool give(std::size_t t, std::size_t d, std::uint32_t left, std::size_t slices,
            std::uint32_t widths);
  // Goes on with the table in slices of one width, which may be more, and take more memory.
  bool share_equally(std::size_t t, std::uint32_t widths);

  const std::vector<SharedTable>& tables_;
  std::vector<std::int64_t> rooms_;
  TakenDevices taken_;
  std::vector<std::vector<std::uint64_t>> open_groups_;  ///< [tables + 1]
  bool equal_widths_;
  const StopCondition& stop_;
  Sharing sharing_;
  std::vector<std::int64_t> bytes_from_;  ///< Of each table and those after it.
  std::vector<std::int64_t> class_of_;    ///< Of each device.
  std::unordered_set<std::vector<std::int64_t>, HashOfNumbers> hopeless_;
  std::size_t remembered_ = 0;
  /// Scratch of state(): [devices][class, room, groups], and its rows in order.
  std::vector<std::int64_t> device_states_;
  std::vector<const std::int64_t*> order_;
  /// [tables][devices + 1]: units that have room on each device of a table and those after it.
  std::vector<std::vector<std::uint64_t>> fit_from_;
  std::uint64_t most_sharings_ = 0;
  std::uint64_t sharings_ = 0;
  std::uint64_t next_look_ = 0;
  bool gave_up_ = false;
};

}  // namespace neuroshard
