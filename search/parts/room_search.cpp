#include "search/parts/room_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/step_budget.h"
#include "core/plans/replicas.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/hash_of_numbers.h"
#include "search/parts/column_parts.h"
#include "search/parts/even_blocks.h"
#include "search/parts/room_ways.h"

namespace neuroshard {
namespace {

// Steps of a search in a part of the memory, of one that cuts columns only where it must, and of
// one through everything: some milliseconds, and some hundred.
constexpr std::uint64_t kFewSteps = 20'000;
constexpr std::uint64_t kManySteps = 1'000'000;
// The work of all steps together takes a second at most.
constexpr std::uint64_t kMostWork = std::uint64_t{1} << 28;
// Decisions that stand at one time, which are a recursion.
constexpr std::size_t kMostStandingDecisions = 8192;
constexpr std::size_t kMostRoomsKnown = std::size_t{1} << 20;

// Devices are filled to so much more than their share of all tables.
constexpr double kFills[] = {1.02, 1.1, 1.3};

/// How a guest is placed.
struct Placed {
  const ColumnCut* cut = nullptr;    ///< Null: see `spread`.
  std::vector<std::uint32_t> units;  ///< On each of the guest's devices.
  const Spread* spread = nullptr;
};

/// Guest after guest in all ways, columns device after device.
class WaySearch {
 public:
  struct Limits {
    std::uint64_t steps = 0;
    bool columns_first = true;  ///< Before blocks and replicas.
  };

  /// Borrows all but `rooms`.
  WaySearch(const std::vector<Guest>& guests, const ApartTables& apart,
            std::vector<std::int64_t> rooms, Limits limits, const StopCondition& stop)
      : guests_(guests),
        apart_(apart),
        rooms_(std::move(rooms)),
        limits_(limits),
        work_(kMostWork, stop),
        placed_(guests.size()),
        tables_on_(rooms_.size()) {
    bytes_from_.assign(guests_.size() + 1, 0);
    for (std::size_t g = guests_.size(); g-- > 0;) {
      bytes_from_[g] = bytes_from_[g + 1] + guests_[g].least_bytes;
    }
    // Devices that can take each other's place are told apart by their room alone.
    alike_ = std::ranges::all_of(guests_, [&](const Guest& guest) {
      return guest.devices.size() == rooms_.size() &&
             std::ranges::all_of(guest.spreads, [](const Spread& spread) {
               return std::ranges::count(spread.bytes, spread.bytes.front()) ==
                      std::ssize(spread.bytes);
             });
    });
  }

  [[nodiscard]] bool run() { return place(0); }
  [[nodiscard]] const std::vector<Placed>& placed() const { return placed_; }

 private:
  bool give_up() {
    gave_up_ |= ++steps_ > limits_.steps || !work_.take(rooms_.size());
    return gave_up_;
  }

  /// Before guest `g`, all rooms.
  [[nodiscard]] std::vector<std::int64_t> state(std::size_t g) const {
    std::vector<std::int64_t> state = rooms_;
    if (alike_) std::ranges::sort(state);
    state.push_back(static_cast<std::int64_t>(g));
    return state;
  }

  bool place(std::size_t g) {
    if (g == guests_.size()) return true;
    if (give_up()) return false;
    std::int64_t room = 0;
    for (const std::int64_t one : rooms_) {
      if (__builtin_add_overflow(room, one, &room)) room = INT64_MAX;
    }
    if (room < bytes_from_[g]) return false;
    std::vector<std::int64_t> known;
    if (apart_.empty()) {  // Else it also matters which tables are where.
      known = state(g);
      if (hopeless_.contains(known)) return false;
    }
    const bool placed = limits_.columns_first ? place_columns(g) || place_spread(g)
                                              : place_spread(g) || place_columns(g);
    if (placed) return true;
    if (!gave_up_ && !known.empty() && remembered_ < kMostRoomsKnown) {
      remembered_ += known.size();
      hopeless_.insert(std::move(known));
    }
    return false;
  }

  bool place_columns(std::size_t g) {
    for (const ColumnCut& cut : guests_[g].cuts) {
      placed_[g] = {.cut = &cut,
                    .units = std::vector<std::uint32_t>(guests_[g].devices.size(), 0),
                    .spread = nullptr};
      if (give(g, 0, cut.units(), 0)) return true;
      if (gave_up_) return false;
    }
    return false;
  }

  bool place_spread(std::size_t g) {
    for (const Spread& spread : guests_[g].spreads) {
      if (!std::ranges::equal(spread.bytes, rooms_, std::ranges::less_equal{})) continue;
      for (std::size_t d = 0; d < rooms_.size(); ++d) rooms_[d] -= spread.bytes[d];
      placed_[g] = {.cut = nullptr, .units = {}, .spread = &spread};
      if (place(g + 1)) return true;
      for (std::size_t d = 0; d < rooms_.size(); ++d) rooms_[d] += spread.bytes[d];
      if (gave_up_) return false;
    }
    return false;
  }

  [[nodiscard]] bool may_hold(std::size_t device, const Guest& guest) {
    for (const std::uint32_t other : tables_on_[device]) {
      for (const std::uint32_t table : guest.tables) {
        if (!work_.take(apart_.groups_of(table).size() + apart_.groups_of(other).size())) {
          return false;
        }
        if (apart_.apart(table, other)) return false;
      }
    }
    return true;
  }

  // `slices`: of the guest on its devices before `d`.
  bool give(std::size_t g, std::size_t d, std::uint32_t left, std::size_t slices) {
    const Guest& guest = guests_[g];
    if (left == 0) return place(g + 1);
    if (d == guest.devices.size() || slices >= guest.most_slices || give_up()) return false;
    const std::uint32_t device = guest.devices[d];
    const ColumnCut& cut = *placed_[g].cut;
    std::int64_t& room = rooms_[device];
    auto most =
        static_cast<std::uint32_t>(std::ranges::upper_bound(cut.bytes, room) - cut.bytes.begin());
    most = std::min(most, left);
    if (!apart_.empty() && !may_hold(device, guest)) most = 0;
    const std::uint32_t least = d + 1 == guest.devices.size() ? left : 0;
    for (std::uint32_t units = most + 1; units-- > least;) {
      const std::uint32_t others = left - units;
      if (units > 0 && units < cut.least_units) continue;
      if (others > 0 && others < cut.least_units) continue;
      const std::size_t more = units == 0 ? 0 : cut.joined ? 1 : units;
      if (slices + more > guest.most_slices) continue;
      const std::int64_t bytes = units == 0 ? 0 : cut.bytes[units - 1];
      room -= bytes;
      placed_[g].units[d] = units;
      const std::size_t before = tables_on_[device].size();
      if (units > 0 && !apart_.empty()) {
        tables_on_[device].insert(tables_on_[device].end(), guest.tables.begin(),
                                  guest.tables.end());
      }
      if (give(g, d + 1, others, slices + more)) return true;
      tables_on_[device].resize(before);
      placed_[g].units[d] = 0;
      room += bytes;
      if (gave_up_) return false;
    }
    return false;
  }

  const std::vector<Guest>& guests_;
  const ApartTables& apart_;
  std::vector<std::int64_t> rooms_;
  Limits limits_;
  StepBudget work_;
  std::vector<Placed> placed_;                         ///< [guests]
  std::vector<std::vector<std::uint32_t>> tables_on_;  ///< [devices], if groups keep any apart.
  std::vector<std::int64_t> bytes_from_;               ///< Of each guest and those after it.
  bool alike_ = false;
  std::unordered_set<std::vector<std::int64_t>, HashOfNumbers> hopeless_;
  std::size_t remembered_ = 0;
  std::uint64_t steps_ = 0;
  bool gave_up_ = false;
};

/// Adds the slices of columns of a guest, side by side.
void add_columns(const Task& task, const Guest& guest, const Placed& placed, Plan& plan) {
  int column = 0;
  for (std::size_t d = 0; d < guest.devices.size(); ++d) {
    std::uint32_t units = placed.units[d];
    std::vector<int>& shard = plan.shards[guest.devices[d]];
    while (units > 0) {
      const std::uint32_t of_slice = placed.cut->joined ? units : 1;
      units -= of_slice;
      for (const std::uint32_t t : guest.tables) {
        const Table& table = task.tables[t];
        const int dim =
            guest.tables.size() > 1 ? table.dim : static_cast<int>(of_slice) * placed.cut->unit_dim;
        shard.push_back(static_cast<int>(plan.slices.size()));
        plan.slices.push_back({static_cast<int>(t), column, dim, 0, table.rows});
        if (guest.tables.size() > 1) continue;
        column += dim;
      }
    }
  }
}

Plan roomy_plan(const Task& task, const std::vector<Guest>& guests,
                const std::vector<Placed>& placed) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (std::size_t g = 0; g < guests.size(); ++g) {
    const std::uint32_t t = guests[g].tables.front();
    if (placed[g].cut != nullptr) {
      add_columns(task, guests[g], placed[g], plan);
      continue;
    }
    const Spread& spread = *placed[g].spread;
    if (spread.kind == Spread::Kind::kReplica) {
      plan.replicas.push_back(static_cast<int>(t));
      continue;
    }
    const bool row_wise = spread.kind == Spread::Kind::kRowWise;
    const Table& table = task.tables[t];
    add_blocks(plan, task, {static_cast<int>(t), 0, table.dim, 0, table.rows}, spread.first_device,
               row_wise ? task.devices : block_groups(task).back());
  }
  std::ranges::sort(plan.replicas);
  return plan;
}

}  // namespace

std::optional<Plan> plan_for_room(const Task& task, bool equal_widths, const StopCondition& stop) {
  if (task.tables.size() * static_cast<std::size_t>(1 + task.devices) > kMostStandingDecisions) {
    return std::nullopt;
  }
  const std::vector<Guest> guests = guests_of(task, equal_widths);
  std::int64_t needed = 0;
  for (const Guest& guest : guests) {
    if (guest.cuts.empty() && guest.spreads.empty()) return std::nullopt;
    needed += guest.least_bytes;
  }
  const ApartTables apart(task);
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  const double share = static_cast<double>(needed) / static_cast<double>(total_room_bytes(task));
  if (share > 1.0) return std::nullopt;
  const auto search = [&](double fill, WaySearch::Limits limits) -> std::optional<Plan> {
    std::vector<std::int64_t> part = rooms;
    for (std::int64_t& room : part) {
      if (fill < 1.0) room = static_cast<std::int64_t>(fill * static_cast<double>(room));
    }
    WaySearch ways(guests, apart, std::move(part), limits, stop);
    if (!ways.run()) return std::nullopt;
    return roomy_plan(task, guests, ways.placed());
  };
  for (const double more : kFills) {
    if (more * share >= 1.0) break;
    if (auto plan = search(more * share, {.steps = kFewSteps})) return plan;
  }
  if (auto plan = search(1.0, {.steps = kFewSteps, .columns_first = false})) return plan;
  return search(1.0, {.steps = kManySteps});
}

}  // namespace neuroshard
