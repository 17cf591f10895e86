#include "search/starts/room_search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/step_budget.h"
#include "core/plans/equal_blocks.h"
#include "core/tables/host_shares.h"
#include "core/tables/table_groups.h"
#include "search/canonical_task.h"
#include "search/starts/device_filling.h"
#include "search/starts/room_ways.h"
#include "search/taken_devices.h"

namespace neuroshard {
namespace {

// Steps of a search that finds room soon or never, and of one through everything, beside those of
// looking at all tables on all devices; and of all searches together: half a second.
constexpr std::uint64_t kFewSteps = std::uint64_t{1} << 21;
constexpr std::uint64_t kManySteps = std::uint64_t{1} << 25;
constexpr std::uint64_t kMostStepsForRoom = std::uint64_t{1} << 26;
constexpr std::uint64_t kStepsOfChoice = 2048;  // For ways of all tables, before any is shared out.
// Tables times devices: some bytes are kept of each.
constexpr std::size_t kMostPlaces = std::size_t{1} << 22;

// All that is dealt out makes devices most alike; more is packed where memory is tight.
constexpr std::array kDealtShares = {1.0, 0.3, 0.1, 0.0};

/// Chooses ways of all tables, until one has room for them.
class RoomSearch {
 public:
  /// Borrows all.
  RoomSearch(const std::vector<RoomTable>& tables, const Task& task, const StopCondition& stop)
      : tables_(tables), task_(task), rooms_(even_rooms_bytes(task)), apart_(task), stop_(stop) {}

  [[nodiscard]] bool run();
  /// Whether all ways were tried in vain.
  [[nodiscard]] bool tried_all() const { return tried_all_; }
  /// Once run() has found room.
  [[nodiscard]] Plan plan() const;

 private:
  /// Whether there is room by `ways_`; false, too, if so many steps do not tell.
  bool fill(DeviceFilling::Order order, std::uint64_t most_steps);
  /// Columns in ever finer cuts, then more and more tables on several devices at once.
  bool try_ladder();
  /// The coarsest cuts of which a unit takes no more than so much; the first `spread` tables that
  /// can be on several devices at once are, as are all that can be nothing else. False: no cuts are
  /// finer.
  bool choose(std::int64_t most_bytes, std::size_t spread);
  /// False: these were the last ones.
  bool next_ways();
  /// Calls place(slice, device).
  template <typename Place>
  void place_columns(const RoomTable& table, const ColumnCut& cut,
                     const std::vector<UnitsOn>& units_on, const Place& place) const;

  const std::vector<RoomTable>& tables_;
  const Task& task_;
  std::vector<std::int64_t> rooms_;
  ApartTables apart_;
  const StopCondition& stop_;
  ChosenWays ways_;
  std::vector<UnitsOn> units_;
  std::uint64_t steps_left_ = kMostStepsForRoom;
  bool gave_up_ = false;
  bool tried_all_ = false;
};

/// All ways from this one on together are all that there are.
std::size_t first_way(const RoomTable& table) {
  const bool finest_is_all = !table.cuts.empty() && !table.cuts.front().equal_widths();
  return finest_is_all ? table.cuts.size() - 1 : 0;
}

void take_bytes(const Spread& spread, std::vector<std::int64_t>& rooms) {
  for (std::size_t i = 0; i < spread.bytes.size(); ++i) {
    rooms[spread.first_device + i] -= spread.bytes[i];
  }
}

/// False: tables that groups keep from this one have taken some of these devices.
bool take_devices(const RoomTable& table, const Spread& spread, TakenDevices& taken) {
  for (std::size_t i = 0; i < spread.bytes.size(); ++i) {
    const std::size_t device = spread.first_device + i;
    if (taken.is_taken(table.table, device)) return false;
    taken.take(table.table, device);
  }
  return true;
}

/// `tables` without devices that others have taken.
std::vector<RoomTable> without_taken(const TakenDevices& taken, std::vector<RoomTable> tables) {
  for (RoomTable& table : tables) {
    for (std::size_t d = 0; d < table.devices.size(); ++d) {
      table.devices[d] = table.devices[d] && !taken.is_taken(table.table, d);
    }
    table.holders = static_cast<std::size_t>(std::ranges::count(table.devices, true));
  }
  return tables;
}

/// Which of the table's spreads takes the fewest bytes, and leaves most beside them; null: none has
/// room.
const Spread* best_spread(const RoomTable& table, const std::vector<std::int64_t>& rooms,
                          const TakenDevices& taken) {
  const Spread* best = nullptr;
  std::pair<std::int64_t, std::int64_t> least;
  for (const Spread& spread : table.spreads) {
    std::int64_t beside = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < spread.bytes.size(); ++i) {
      const std::size_t device = spread.first_device + i;
      if (taken.is_taken(table.table, device)) beside = -1;
      beside = std::min(beside, rooms[device] - spread.bytes[i]);
      if (beside < 0) break;
    }
    const std::pair takes(spread.total_bytes(), -beside);
    if (beside < 0 || (best != nullptr && takes >= least)) continue;
    best = &spread;
    least = takes;
  }
  return best;
}

bool RoomSearch::fill(DeviceFilling::Order order, std::uint64_t most_steps) {
  const std::uint64_t places = tables_.size() * rooms_.size();
  const std::uint64_t of_all = DeviceFilling::kStepsOfPlace * places;
  const std::uint64_t limit = std::min(most_steps + of_all, steps_left_);
  StepBudget steps(limit, stop_);
  std::vector<std::int64_t> left = rooms_;
  TakenDevices taken(apart_, rooms_.size());
  bool any_taken = false;
  bool are_apart = true;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const std::size_t cuts = tables_[t].cuts.size();
    if (ways_[t] < cuts) continue;
    const Spread& spread = tables_[t].spreads[ways_[t] - cuts];
    take_bytes(spread, left);
    any_taken |= !apart_.groups_of(tables_[t].table).empty();
    are_apart = are_apart && take_devices(tables_[t], spread, taken);
  }
  bool found = false;
  if (steps.take(kStepsOfChoice + (any_taken ? places : 0)) && are_apart &&
      std::ranges::min(left) >= 0) {
    std::vector<RoomTable> others;
    if (any_taken) others = without_taken(taken, tables_);
    DeviceFilling filling(any_taken ? others : tables_, ways_, std::move(left), apart_, order,
                          steps);
    found = filling.run();
    if (found) units_ = filling.units();
  }
  gave_up_ |= steps.spent();
  const bool stopped = steps.spent() && steps.taken() <= limit;
  steps_left_ = stopped ? 0 : steps_left_ - std::min(steps_left_, steps.taken());
  return found;
}

bool RoomSearch::choose(std::int64_t most_bytes, std::size_t spread) {
  bool is_finest = true;
  std::vector<std::int64_t> left = rooms_;
  TakenDevices taken(apart_, rooms_.size());
  ways_.clear();
  for (const RoomTable& table : tables_) {
    const std::size_t cuts = table.cuts.size();
    if (cuts == 0 || (spread > 0 && !table.spreads.empty())) {
      if (cuts > 0) --spread;
      const Spread* const best = best_spread(table, left, taken);
      if (best != nullptr) {
        take_bytes(*best, left);
        (void)take_devices(table, *best, taken);
      }
      // Where none has room, cuts may.
      const std::size_t otherwise = cuts == 0 ? 0 : cuts - 1;
      ways_.push_back(best == nullptr
                          ? otherwise
                          : cuts + static_cast<std::size_t>(best - table.spreads.data()));
      continue;
    }
    std::size_t cut = 0;
    while (cut + 1 < cuts && table.cuts[cut].bytes(1) > most_bytes) ++cut;
    is_finest &= cut + 1 == cuts;
    ways_.push_back(cut);
  }
  return !is_finest;
}

bool RoomSearch::try_ladder() {
  ChosenWays last;
  const auto has_room = [&] {
    if (std::exchange(last, ways_) == ways_) return false;
    for (const double dealt_share : kDealtShares) {
      if (fill({.even = true, .dealt_share = dealt_share}, kFewSteps)) return true;
    }
    return fill({}, kFewSteps);
  };
  bool finer = true;
  for (std::int64_t bytes = std::ranges::max(rooms_); finer && steps_left_ > 0; bytes /= 2) {
    finer = choose(bytes, 0);
    if (has_room()) return true;
  }
  const auto either =
      static_cast<std::size_t>(std::ranges::count_if(tables_, [](const RoomTable& table) {
        return !table.cuts.empty() && !table.spreads.empty();
      }));
  for (std::size_t spread = 1; spread < 2 * either && steps_left_ > 0; spread *= 2) {
    (void)choose(0, spread);
    if (has_room()) return true;
  }
  return false;
}

bool RoomSearch::next_ways() {
  for (std::size_t t = tables_.size(); t-- > 0;) {
    if (++ways_[t] < tables_[t].ways()) return true;
    ways_[t] = first_way(tables_[t]);
  }
  return false;
}

bool RoomSearch::run() {
  tried_all_ =
      std::ranges::any_of(tables_, [](const RoomTable& table) { return table.ways() == 0; });
  if (tried_all_) return false;
  if (try_ladder()) return true;
  for (std::size_t t = 0; t < tables_.size(); ++t) ways_[t] = first_way(tables_[t]);
  gave_up_ = false;
  do {
    if (fill({}, kManySteps)) return true;
    if (steps_left_ == 0) return false;
  } while (next_ways());
  tried_all_ = !gave_up_;
  return false;
}

// The widest slices come first, so that halves of halves are such.
template <typename Place>
void RoomSearch::place_columns(const RoomTable& table, const ColumnCut& cut,
                               const std::vector<UnitsOn>& units_on, const Place& place) const {
  std::vector<UnitsOn> slices;
  for (UnitsOn left : units_on) {
    while (left.units > 0) {
      slices.push_back({left.table, left.device, cut.units_of_slice(left.units)});
      left.units -= slices.back().units;
    }
  }
  std::ranges::stable_sort(slices, std::greater(), &UnitsOn::units);
  int column = 0;
  for (const UnitsOn& slice : slices) {
    const int dim = slice.units * cut.unit_dim;
    place({static_cast<int>(table.table), column, dim, 0, task_.tables[table.table].rows},
          static_cast<int>(slice.device));
    column += dim;
  }
}

Plan RoomSearch::plan() const {
  std::vector<std::vector<UnitsOn>> units_of(tables_.size());
  for (const UnitsOn& units : units_) units_of[units.table].push_back(units);
  Plan plan;
  plan.shards.resize(rooms_.size());
  const auto place = [&](const TableSlice& slice, int device) {
    plan.add(slice, static_cast<std::size_t>(device));
  };
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const RoomTable& table = tables_[i];
    const std::size_t cuts = table.cuts.size();
    if (ways_[i] < cuts) {
      place_columns(table, table.cuts[ways_[i]], units_of[i], place);
      continue;
    }
    const Spread& spread = table.spreads[ways_[i] - cuts];
    const int t = static_cast<int>(table.table);
    if (spread.is_replica) {
      plan.replicas.push_back(t);
    } else {
      const Table& of = task_.tables[table.table];
      for_each_block({t, 0, of.dim, 0, of.rows}, static_cast<int>(spread.first_device),
                     static_cast<int>(spread.bytes.size()), place);
    }
  }
  std::ranges::sort(plan.replicas);
  return plan;
}

}  // namespace

RoomFound find_room(const Backend& backend, const Task& task, const WayOptions& options,
                    const StopCondition& stop) {
  if (task.tables.size() * static_cast<std::size_t>(task.devices) > kMostPlaces) return {};
  const BundledTask canonical = canonical_task(task);
  ShardCatalog catalog(backend, canonical);
  const TableWays ways(catalog, canonical, options);
  const std::vector<RoomTable> tables = room_tables(canonical, ways);
  RoomSearch search(tables, canonical.task, stop);
  if (!search.run()) {
    // It gives devices equal parts of what nodes share.
    return {.plan = std::nullopt, .impossible = search.tried_all() && !pools_host_memory(task)};
  }
  return {.plan = in_normal_form(task, canonical.plan_of_listed(search.plan()))};
}

}  // namespace neuroshard
