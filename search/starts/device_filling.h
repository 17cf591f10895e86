#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/base/step_budget.h"
#include "core/tables/table_groups.h"
#include "search/starts/room_ways.h"

namespace neuroshard {

/// Units of a table on a device.
struct UnitsOn {
  std::size_t table;  ///< Index of its RoomTable.
  std::size_t device;
  int units;
};

/// Shares the columns of tables out by completing one device after the other: it gets units of
/// tables, so that no more is wasted than there is to waste, and nothing that later devices get
/// could as well be on it. (Korf: A new algorithm for optimal bin packing, AAAI 2002; here bins
/// differ, and items can be cut.)
class DeviceFilling {
 public:
  struct Order {
    /// No device wastes more than its share, and each gets just enough for that. Else everything is
    /// looked through: that there is no way is then proven.
    bool even = false;
    /// The smallest, of such a share of all bytes, are dealt out in the end, each to the device
    /// with most room.
    double dealt_share = 0.0;
  };
  /// Steps for a table on a device, where all decisions stand.
  static constexpr std::uint64_t kStepsOfPlace = 4;

  /// Borrows all but `rooms`. `ways`: of each of `tables`; those that are no cuts take no part.
  DeviceFilling(const std::vector<RoomTable>& tables, const ChosenWays& ways,
                std::vector<std::int64_t> rooms, const ApartTables& apart, Order order,
                StepBudget& steps);

  /// False: there is no way, or `steps` are spent.
  [[nodiscard]] bool run();
  [[nodiscard]] std::vector<UnitsOn> units() const;

 private:
  struct HashOfNumbers {
    std::size_t operator()(const std::vector<int>& numbers) const;
  };
  struct Item {
    std::size_t index;
    const RoomTable* table;
    const ColumnCut* cut;
    bool is_grouped;         ///< Groups keep it apart from others.
    bool is_like_last;       ///< It can take the place of the item before it.
    bool moves_by_units;     ///< A unit may always join others, or leave them.
    int left;                ///< Units.
    std::size_t slices;      ///< So far.
    std::int64_t fit_later;  ///< Units that have room on later devices, if they are empty.
  };
  /// An item that the device has room for.
  struct Offer {
    std::size_t item;
    int least;                ///< Others have no room for more.
    std::int64_t bytes_from;  ///< This and later offers take no more,
    std::int64_t owed_from;   ///< and no less.
  };
  struct OpenDevice {
    std::vector<Offer> offers;
    std::size_t decisions;   ///< Before it.
    std::vector<int> known;  ///< The units that were left then.
  };
  struct Decision {
    std::size_t offer;
    int units;
    std::int64_t room;  ///< Before it.
    std::int64_t most_waste;
  };

  /// Begins with the next device. False: it or later ones cannot be filled.
  bool open_device();
  void close_device();
  /// Calls visit(item, device, units).
  template <typename Visit>
  void for_each_decision(const Visit& visit) const;
  /// Deals out `dealt_`. False: there is no room.
  bool deal();
  /// Takes the next decision. False: there is none.
  bool go_on();
  /// Takes back decisions up to one that can be another. False: there is none.
  bool go_back();
  void decide(int units);
  /// The most units, `most` or less, of the offer at `position_` that have room beside what the
  /// device owes, and that rules allow; 0: none.
  [[nodiscard]] int allowed_units(int most) const;
  /// Whether the device holds what groups keep from `item`.
  [[nodiscard]] bool is_barred(const Item& item) const;
  /// Whether the item before the one at `position_` is like it, and was left out.
  [[nodiscard]] bool follows_skipped() const;
  void give(Item& item, int units, int sign);
  /// Adds what has room on a device to what has room later, or takes it off.
  void count_later(std::size_t place, int sign);
  /// After so many units of `item`: with more waste the device has room for some that come later.
  void limit_waste(const Item& item, int units);
  /// Whether so many devices are enough for tables that groups keep apart.
  [[nodiscard]] bool groups_have_devices(std::size_t devices) const;
  /// The offer after the one at `position_`, of no bytes where that is the last.
  [[nodiscard]] Offer next_offer() const;

  const ApartTables& apart_;
  bool even_;
  StepBudget& steps_;
  std::vector<Item> items_;
  std::vector<Item> dealt_;
  std::vector<UnitsOn> units_dealt_;
  std::vector<std::size_t> order_;        ///< [places]: devices.
  std::vector<std::int64_t> rooms_;       ///< [devices]
  std::vector<std::int64_t> rooms_from_;  ///< [places in `order_`]: of a device and those after it.
  std::size_t alike_from_ = 0;            ///< From this place on devices are alike.
  std::int64_t bytes_left_ = 0;           ///< At least.
  std::size_t items_left_ = 0;
  std::vector<OpenDevice> open_;
  std::vector<Decision> decisions_;
  std::unordered_set<std::vector<int>, HashOfNumbers> hopeless_;
  std::size_t remembered_ = 0;
  // These describe the last open device:
  std::size_t position_ = 0;
  std::int64_t room_ = 0;
  std::int64_t most_waste_ = 0;
};

}  // namespace neuroshard
