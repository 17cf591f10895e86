#include "search/starts/ruled_packings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "core/table_groups.h"
#include "core/table_rules.h"
#include "search/hash_of_numbers.h"
#include "search/packing.h"

namespace neuroshard {
namespace {

// More starts than improvement takes up are of no use.
constexpr std::size_t kMostRuledPackings = 6;

// Looks at a device for a slice in one cut: some ten milliseconds.
constexpr std::size_t kMostLooks = std::size_t{1} << 24;

// Steps of the search through everything, some ten milliseconds: the fewer the more decisions there
// are, since large tasks find room soon or never, and a plan may look for it in a hundred parts of
// them; but some for each decision.
constexpr std::uint64_t kMostSharings = 1'000'000;
constexpr std::uint64_t kSharingsTimesDecisions = std::uint64_t{1} << 27;
constexpr std::uint64_t kSharingsOfDecision = 4;
// Decisions that stand at one time, which are a recursion.
constexpr std::size_t kMostDecisions = 8192;
constexpr std::uint64_t kSharingsBetweenLooks = 1024;
// To look up what is left before a table takes the time of so many, and of one for so many numbers.
constexpr std::uint64_t kSharingsOfLookUp = 6;
constexpr std::uint64_t kNumbersOfSharing = 4;
constexpr std::size_t kMostRememberedRooms = std::size_t{1} << 20;

constexpr std::array kFits = {PackingRule::kBestFit, PackingRule::kWorstFit,
                              PackingRule::kFirstFit};

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

// Those that few devices may hold come first, and of these the largest.
std::vector<SharedTable> shared_tables(const PieceCatalog& catalog, const Task& task) {
  std::vector<SharedTable> tables;
  for (std::uint32_t t = 0; t < catalog.tables(); ++t) {
    SharedTable shared;
    shared.table = t;
    shared.most_slices = catalog.most_slices(t);
    const std::vector<bool> allowed = allowed_devices(task.tables[t].rules, task);
    for (std::uint32_t device = 0; device < allowed.size(); ++device) {
      if (allowed[device]) shared.devices.push_back(device);
    }
    shared.unit = catalog.whole(t);
    shared.bytes.push_back(catalog.size_bytes(shared.unit));
    while (catalog.can_split(shared.unit)) {
      shared.unit = catalog.half(shared.unit);
      shared.bytes.insert(shared.bytes.begin(), catalog.size_bytes(shared.unit));
    }
    shared.units = static_cast<std::uint32_t>(catalog.slices(t, shared.unit));
    shared.least_unit_bytes = shared.bytes.back() / shared.units;
    tables.push_back(std::move(shared));
  }
  std::stable_sort(tables.begin(), tables.end(), [&](const SharedTable& a, const SharedTable& b) {
    if (a.devices.size() != b.devices.size()) return a.devices.size() < b.devices.size();
    return catalog.size_bytes(catalog.whole(a.table)) > catalog.size_bytes(catalog.whole(b.table));
  });
  return tables;
}

/// Units of each table on each of its devices.
using Sharing = std::vector<std::vector<std::uint32_t>>;

// The fewest slices that have so many columns together.
Layout layout_of(const std::vector<SharedTable>& tables, const Sharing& sharing) {
  Layout layout;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (std::size_t d = 0; d < tables[t].devices.size(); ++d) {
      std::uint32_t piece = tables[t].unit;
      for (std::uint32_t units = sharing[t][d]; units != 0; units /= 2, --piece) {
        if (units % 2 != 0) layout.push_back({piece, tables[t].table, tables[t].devices[d]});
      }
    }
  }
  sort_layout(layout);
  return layout;
}

/// All slices of a table alike.
struct EvenCut {
  std::vector<std::uint32_t> pieces;  ///< Of each of the shared tables.
  bool finest = true;
  std::size_t looks = 0;
};

EvenCut even_cut(const PieceCatalog& catalog, const std::vector<SharedTable>& tables,
                 std::int64_t most_bytes) {
  EvenCut cut;
  for (const SharedTable& shared : tables) {
    std::uint32_t piece = catalog.whole(shared.table);
    while (catalog.can_split_all(piece) && catalog.size_bytes(piece) > most_bytes) {
      piece = catalog.half(piece);
    }
    cut.finest = cut.finest && !catalog.can_split_all(piece);
    cut.pieces.push_back(piece);
    cut.looks += catalog.slices(shared.table, piece) * shared.devices.size();
  }
  return cut;
}

/// Which devices the groups of tables that are placed one after the other have taken.
class TakenDevices {
 public:
  TakenDevices(const ApartTables& apart, std::size_t tables, std::size_t devices)
      : words_((apart.groups() + 63) / 64),
        taken_(words_ * devices, 0),
        masks_(words_ * tables, 0) {
    for (std::size_t table = 0; table * words_ < masks_.size(); ++table) {
      for (const std::uint32_t group : apart.groups_of(table)) {
        masks_[table * words_ + group / 64] |= std::uint64_t{1} << (group % 64);
      }
    }
  }

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

enum class FittingOrder { kFewestDevicesFirst, kLargestFirst };

// Slices in the order of tables that few devices may hold, then by size; or by size alone. Empty:
// one finds no room.
Sharing fitted(const PieceCatalog& catalog, const std::vector<SharedTable>& tables,
               const EvenCut& cut, std::vector<std::int64_t> rooms, const ApartTables& apart,
               FittingOrder fitting_order, PackingRule rule) {
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t t) {
      const bool by_size = fitting_order == FittingOrder::kLargestFirst;
      return std::tuple(by_size ? 0 : tables[t].devices.size(), -catalog.size_bytes(cut.pieces[t]));
    };
    return key(a) < key(b);
  });
  TakenDevices taken(apart, tables.size(), rooms.size());
  Sharing sharing(tables.size());
  for (const std::size_t t : order) {
    const SharedTable& shared = tables[t];
    sharing[t].assign(shared.devices.size(), 0);
    const std::int64_t bytes = catalog.size_bytes(cut.pieces[t]);
    const std::size_t slices = catalog.slices(shared.table, cut.pieces[t]);
    for (std::size_t slice = 0; slice < slices; ++slice) {
      std::size_t chosen = shared.devices.size();
      for (std::size_t d = 0; d < shared.devices.size(); ++d) {
        const std::int64_t room = rooms[shared.devices[d]];
        if (room < bytes || !taken.may_hold(shared.devices[d], shared.table)) continue;
        const auto better = [&] {
          const std::int64_t before = rooms[shared.devices[chosen]];
          return rule == PackingRule::kBestFit ? room < before
                                               : rule == PackingRule::kWorstFit && room > before;
        };
        if (chosen == shared.devices.size() || better()) chosen = d;
      }
      if (chosen == shared.devices.size()) return {};
      rooms[shared.devices[chosen]] -= bytes;
      sharing[t][chosen] += shared.units / static_cast<std::uint32_t>(slices);
    }
    for (std::size_t d = 0; d < shared.devices.size(); ++d) {
      if (sharing[t][d] > 0) taken.mark(shared.devices[d], shared.table, true);
    }
  }
  return sharing;
}

/// Table after table, device after device: how many units of the one the other gets.
class SharingSearch {
 public:
  /// Borrows all but `rooms`. `apart`: of the task of `tables`.
  SharingSearch(const std::vector<SharedTable>& tables, std::vector<std::int64_t> rooms,
                const ApartTables& apart, bool equal_widths, const StopCondition& stop)
      : tables_(tables),
        rooms_(std::move(rooms)),
        taken_(apart, tables.size(), rooms_.size()),
        equal_widths_(equal_widths),
        stop_(stop) {
    std::size_t decisions = 0;
    for (const SharedTable& shared : tables_) {
      sharing_.emplace_back(shared.devices.size(), 0);
      fit_from_.emplace_back(shared.devices.size() + 1, 0);
      decisions += shared.devices.size();
    }
    gave_up_ = decisions > kMostDecisions;
    most_sharings_ = std::min(
        kMostSharings, std::max(kSharingsTimesDecisions / std::max<std::size_t>(1, decisions),
                                kSharingsOfDecision * decisions));
    open_groups_of(apart);
    bytes_from_.assign(tables_.size() + 1, 0);
    for (std::size_t t = tables_.size(); t-- > 0;) {
      bytes_from_[t] = bytes_from_[t + 1] + tables_[t].bytes.back();
    }
    classify_devices();
  }

  [[nodiscard]] bool run() { return !gave_up_ && share(0); }
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  [[nodiscard]] const Sharing& sharing() const { return sharing_; }

 private:
  // Devices that the same tables may go to can take each other's place.
  void classify_devices() {
    std::vector<std::vector<bool>> guests(rooms_.size(), std::vector<bool>(tables_.size(), false));
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (const std::uint32_t device : tables_[t].devices) guests[device][t] = true;
    }
    std::set<std::vector<bool>> kinds(guests.begin(), guests.end());
    for (const std::vector<bool>& kind : guests) {
      class_of_.push_back(std::distance(kinds.begin(), kinds.find(kind)));
    }
  }

  // Before each table, the groups that it or a later one is in.
  void open_groups_of(const ApartTables& apart) {
    open_groups_.assign(tables_.size() + 1,
                        std::vector<std::uint64_t>((apart.groups() + 63) / 64, 0));
    if (apart.empty()) return;
    for (std::size_t t = tables_.size(); t-- > 0;) {
      open_groups_[t] = open_groups_[t + 1];
      for (const std::uint32_t group : apart.groups_of(tables_[t].table)) {
        open_groups_[t][group / 64] |= std::uint64_t{1} << (group % 64);
      }
    }
  }

  // What is left, by class and room, and by the groups that others of them are still to come of.
  // There are as many devices of each class in all states.
  [[nodiscard]] std::vector<std::int64_t> state(std::size_t t) {
    const std::vector<std::uint64_t>& open = open_groups_[t];
    const std::size_t width = 2 + open.size();
    device_states_.resize(rooms_.size() * width);
    order_.resize(rooms_.size());
    for (std::size_t d = 0; d < rooms_.size(); ++d) {
      std::int64_t* const device = device_states_.data() + d * width;
      order_[d] = device;
      device[0] = class_of_[d];
      device[1] = rooms_[d];
      for (std::size_t word = 0; word < open.size(); ++word) {
        device[2 + word] = static_cast<std::int64_t>(taken_.groups_on(d)[word] & open[word]);
      }
    }
    std::sort(order_.begin(), order_.end(), [width](const std::int64_t* a, const std::int64_t* b) {
      return std::lexicographical_compare(a, a + width, b, b + width);
    });
    std::vector<std::int64_t> state;
    state.reserve(1 + order_.size() * (width - 1));
    state.push_back(static_cast<std::int64_t>(t));
    for (const std::int64_t* device : order_) state.insert(state.end(), device + 1, device + width);
    return state;
  }

  /// Its devices take part in the groups of table `t`, or do so no more, until the next one's turn.
  void mark(std::size_t t, bool taken) {
    for (std::size_t d = 0; d < tables_[t].devices.size(); ++d) {
      if (sharing_[t][d] > 0) taken_.mark(tables_[t].devices[d], tables_[t].table, taken);
    }
  }

  bool share(std::size_t t) {
    if (t == tables_.size()) return true;
    std::int64_t room = 0;
    for (const std::int64_t one : rooms_) {
      if (__builtin_add_overflow(room, one, &room)) room = INT64_MAX;
    }
    if (room < bytes_from_[t]) return false;
    std::vector<std::int64_t> known = state(t);
    sharings_ += kSharingsOfLookUp + known.size() / kNumbersOfSharing;
    if (hopeless_.contains(known)) return false;
    count_fits(t);
    if (give(t, 0, tables_[t].units, 0, 0)) return true;
    if (!gave_up_ && remembered_ < kMostRememberedRooms) {
      remembered_ += known.size();
      hopeless_.insert(std::move(known));
    }
    return false;
  }

  bool stopped() {
    if (sharings_ < next_look_) return false;
    next_look_ = sharings_ + kSharingsBetweenLooks;
    return stop_.reached();
  }

  /// Units of the table that have room on its device `d`, if it had nothing of the table.
  [[nodiscard]] std::uint32_t fit(const SharedTable& shared, std::size_t d) const {
    const std::uint32_t device = shared.devices[d];
    // Tables are given out one after the other, so that what is taken is taken by others.
    if (!taken_.may_hold(device, shared.table)) return 0;
    const std::int64_t units = rooms_[device] / shared.least_unit_bytes;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(units, 0, shared.units));
  }

  // Devices do not change while those before them are given units of the same table.
  void count_fits(std::size_t t) {
    std::vector<std::uint64_t>& from = fit_from_[t];
    for (std::size_t d = tables_[t].devices.size(); d-- > 0;) {
      from[d] = from[d + 1] + fit(tables_[t], d);
    }
  }

  // `slices`: of the table on the devices before `d`; `widths`: their units, or'ed.
  bool give(std::size_t t, std::size_t d, std::uint32_t left, std::size_t slices,
            std::uint32_t widths) {
    const SharedTable& shared = tables_[t];
    if (left == 0) {
      mark(t, true);
      if (equal_widths_ ? share_equally(t, widths) : share(t + 1)) return true;
      mark(t, false);
      return false;
    }
    if (left > fit_from_[t][d] || slices >= shared.most_slices) return false;
    ++sharings_;
    if (sharings_ > most_sharings_ || stopped()) {
      gave_up_ = true;
      return false;
    }
    std::int64_t& room = rooms_[shared.devices[d]];
    const std::uint32_t most = std::min(left, fit(shared, d));
    const std::uint64_t of_others = fit_from_[t][d + 1];
    const std::uint32_t least = left > of_others ? left - static_cast<std::uint32_t>(of_others) : 0;
    for (std::uint32_t units = most + 1; units-- > least;) {
      const std::size_t more = slices + static_cast<std::size_t>(std::popcount(units));
      if (more > shared.most_slices) continue;
      const std::int64_t bytes = shared.bytes_of(units);
      if (bytes > room) continue;
      room -= bytes;
      sharing_[t][d] = units;
      if (give(t, d + 1, left - units, more, widths | units)) return true;
      sharing_[t][d] = 0;
      room += bytes;
      if (gave_up_) return false;
    }
    return false;
  }

  // Goes on with the table in slices of one width, which may be more, and take more memory.
  bool share_equally(std::size_t t, std::uint32_t widths) {
    const SharedTable& shared = tables_[t];
    const auto level = static_cast<std::size_t>(std::countr_zero(widths));
    if ((shared.units >> level) > shared.most_slices) return false;
    const std::vector<std::int64_t> rooms = rooms_;
    bool fit = true;
    for (std::size_t d = 0; d < shared.devices.size(); ++d) {
      const std::uint32_t units = sharing_[t][d];
      std::int64_t& room = rooms_[shared.devices[d]];
      room -= static_cast<std::int64_t>(units >> level) * shared.bytes[level];
      room += shared.bytes_of(units);
      fit = fit && room >= 0;
    }
    if (fit && share(t + 1)) return true;
    rooms_ = rooms;
    return false;
  }

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
  std::vector<std::int64_t>
      device_states_;                       ///< Scratch of state(), [devices][class, room, groups],
  std::vector<const std::int64_t*> order_;  ///< and its rows in order.
  /// [tables][devices + 1]: units that have room on each device of a table and those after it.
  std::vector<std::vector<std::uint64_t>> fit_from_;
  std::uint64_t most_sharings_ = 0;
  std::uint64_t sharings_ = 0;
  std::uint64_t next_look_ = kSharingsBetweenLooks;
  bool gave_up_ = false;
};

}  // namespace

namespace {

/// Evenly cut tables.
std::vector<Layout> even_packings(const PieceCatalog& catalog, const Task& task,
                                  const StopCondition& stop) {
  std::vector<Layout> layouts;
  const std::vector<SharedTable> tables = shared_tables(catalog, task);
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  const ApartTables apart(task);
  for (const FittingOrder order :
       {FittingOrder::kFewestDevicesFirst, FittingOrder::kLargestFirst}) {
    if (order == FittingOrder::kLargestFirst && !any_limits_devices(task))
      break;  // It is the same.
    std::vector<std::uint32_t> coarser;
    for (std::int64_t most_bytes = largest_room_bytes(task); !stop.reached(); most_bytes /= 2) {
      EvenCut cut = even_cut(catalog, tables, most_bytes);
      if (cut.looks > kMostLooks) break;
      if (cut.pieces != coarser) {
        for (const PackingRule rule : kFits) {
          if (layouts.size() == kMostRuledPackings) return layouts;
          const Sharing sharing = fitted(catalog, tables, cut, rooms, apart, order, rule);
          if (!sharing.empty()) layouts.push_back(layout_of(tables, sharing));
        }
      }
      if (cut.finest) break;
      coarser = std::move(cut.pieces);
    }
    if (!layouts.empty()) break;
  }
  return layouts;
}

}  // namespace

TightPackings pack_under_rules(const PieceCatalog& catalog, const Task& task, const Task* starts,
                               bool equal_widths, const StopCondition& stop) {
  TightPackings found;
  if (starts != nullptr) found.layouts = even_packings(catalog, *starts, stop);
  if (found.layouts.empty() && !task.groups.empty()) {
    found.layouts = even_packings(catalog, task, stop);
  }
  if (!found.layouts.empty() || stop.reached()) return found;
  const std::vector<SharedTable> tables = shared_tables(catalog, task);
  const ApartTables apart(task);
  SharingSearch search(tables, rooms_bytes(task), apart, equal_widths, stop);
  if (search.run()) {
    found.layouts.push_back(layout_of(tables, search.sharing()));
  } else {
    found.impossible = !search.gave_up();
  }
  return found;
}

}  // namespace neuroshard
