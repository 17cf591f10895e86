#include "search/replanning/carried_start.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/count_up.h"
#include "core/base/random.h"
#include "core/tables/host_shares.h"
#include "core/tables/table_rules.h"
#include "search/moves/rebuild.h"
#include "search/state/plan_limits.h"
#include "search/state/plan_state.h"
#include "search/state/shard_catalog.h"
#include "search/state/state_prices.h"

namespace neuroshard {
namespace {

// Most that one of the slices of a new table may cost, as shares of the mean cost of a device, and
// at least.
constexpr std::array kSharesOfSlices = {std::numeric_limits<double>::infinity(), 1.0, 0.25};
constexpr double kLeastMsOfSlice = 1e-9;

// Devices give up what they lack room for so many times.
constexpr int kRoundsForRoom = 16;

/// A state of the canonical task borrows this.
struct NearState {
  explicit NearState(const CarriedStart& start)
      : catalog(start.backend, start.canonical),
        ways(catalog, start.canonical, start.ways),
        moved(start.moves, start.canonical, ways) {}

  ShardCatalog catalog;
  TableWays ways;
  MovedBytes moved;
};

/// Puts a start together, for the canonical task.
class StartMaker {
 public:
  StartMaker(const CarriedStart& from, std::span<const CarriedTable> tables)
      : from_(from),
        task_(from.canonical.task),
        near_(from),
        state_(near_.catalog, near_.ways, in_place(tables), &near_.moved),
        prices_(state_),
        rebuild_(state_, prices_, random_) {
    state_.apply(as_they_run(tables));
    prices_.price_state();
  }

  std::vector<Plan> run() {
    std::vector<Plan> plans;
    double mean_ms = 0.0;
    for (int t = 0; std::cmp_less(t, task_.tables.size()); ++t) {
      mean_ms += std::max(0.0, alone_ms(t)) / task_.devices;
    }
    for (const double share : kSharesOfSlices) {
      if (std::optional<Plan> plan = placed_with(kLeastMsOfSlice + share * mean_ms)) {
        plans.push_back(*std::move(plan));
      }
      if (new_tables_.empty() || from_.stop.reached()) break;
    }
    return plans;
  }

 private:
  /// Blocks of rows that stay where they are.
  [[nodiscard]] Plan in_place(std::span<const CarriedTable> tables) const {
    Plan plan;
    plan.shards.resize(static_cast<std::size_t>(task_.devices));
    for (std::size_t t = 0; t < task_.tables.size(); ++t) {
      for (HeldSlice held : tables[from_.canonical.original[t]].in_place) {
        held.slice.table = static_cast<int>(t);
        plan.add(held.slice, static_cast<std::size_t>(held.device));
      }
    }
    return plan;
  }

  /// Slices that have a place. The others are pending.
  Edit as_they_run(std::span<const CarriedTable> tables) {
    Edit edit;
    for (std::size_t t = 0; t < task_.tables.size(); ++t) {
      const int table = static_cast<int>(t);
      const CarriedTable& carried = tables[from_.canonical.original[t]];
      if (carried.way == Way::kReplica) {
        edit.in.push_back({table, task_.tables[t].dim, Way::kReplica, 0});
        continue;
      }
      std::vector<StateSlice> slices = carried.slices;
      if (from_.canonical.bundle(t) != nullptr) slices = {bundle(table)};
      if (carried.way && slices.empty()) new_tables_.emplace_back(table, *carried.way);
      for (StateSlice& slice : slices) {
        slice.table = table;
        (may_stay(edit, slice) ? edit.in : pending_).push_back(slice);
      }
    }
    return edit;
  }

  [[nodiscard]] bool may_stay(const Edit& edit, const StateSlice& slice) const {
    return slice.place != kNowhere && limits_allow_there(state_, edit, slice);
  }

  /// On the device that holds most of a bundle, or nowhere if none holds any.
  [[nodiscard]] StateSlice bundle(int table) const {
    StateSlice slice{table, task_.tables[static_cast<std::size_t>(table)].dim, Way::kDevice,
                     task_.devices};
    std::int64_t least = near_.moved.about(slice);  // By a device that holds nothing.
    int best = kNowhere;
    for (slice.place = 0; slice.place < task_.devices; ++slice.place) {
      const std::int64_t bytes = near_.moved.about(slice);
      if (bytes >= least || !near_.ways.of(table).may_be_at(slice.way, slice.place)) continue;
      least = bytes;
      best = slice.place;
    }
    slice.place = best;
    return slice;
  }

  /// If a device holds more than it can, the smallest slice that is enough gives way, or as few of
  /// its columns as are enough; none that may be nowhere else, as long as there are others.
  void make_room(int device) {
    const std::vector<int>& ids = state_.at(Way::kDevice, device);
    const auto excess = [&] {
      return state_.sums.bytes[static_cast<std::size_t>(device)] + state_.sums.replica_bytes -
             prices_.room_bytes(device);
    };
    const auto rank = [&](int id) {
      const StateSlice& slice = state_.slice(id);
      const TableWays::OfTable& of = near_.ways.of(slice.table);
      const bool pinned = !of.allowed.empty() && std::ranges::count(of.allowed.front(), true) == 1;
      const std::int64_t bytes = bytes_of(slice.table, slice.width);
      return std::tuple(pinned, near_.moved.about(slice) == 0, bytes < excess(),
                        bytes < excess() ? -bytes : bytes);
    };
    while (excess() > 0 && !ids.empty()) {
      const int id = *std::ranges::min_element(ids, {}, rank);
      StateSlice goes = state_.slice(id);
      StateSlice stays = goes;
      const auto is_enough = [&] {
        return bytes_of(goes.table, goes.width) - bytes_of(goes.table, stays.width) >= excess() &&
               near_.ways.may_be_wide(goes.table, stays.width) &&
               near_.ways.may_be_wide(goes.table, goes.width - stays.width);
      };
      const bool may_cut = !near_.ways.equal_widths() && can_have_more(goes.table);
      do {
        stays.width -= kDimMultiple;
      } while (stays.width > 0 && !(may_cut && is_enough()));
      Edit edit;
      edit.out = {id};
      if (stays.width > 0) edit.in = {stays};
      goes.width -= stays.width;
      state_.apply(edit);
      goes.place = kNowhere;
      pending_.push_back(goes);
    }
  }

  /// Whether rules let a table have a slice more.
  [[nodiscard]] bool can_have_more(int table) const {
    const auto slices = static_cast<std::ptrdiff_t>(state_.of_table(table).size()) +
                        std::ranges::count(pending_, table, &StateSlice::table);
    return slices < near_.ways.of(table).most_slices(Way::kDevice);
  }

  [[nodiscard]] int shard(int table, int width) {
    return near_.catalog.shard(near_.catalog.all_rows(table), width);
  }
  [[nodiscard]] std::int64_t bytes_of(int table, int width) {
    return near_.catalog.load(shard(table, width)).bytes;
  }
  [[nodiscard]] double alone_ms(int table) {
    return near_.catalog.alone_ms(shard(table, task_.tables[static_cast<std::size_t>(table)].dim));
  }

  /// Devices that lack room once all is placed give way to what they have more of.
  std::optional<Plan> placed_with(double most_ms) {
    state_.begin_undo();
    const PlanSums before = state_.sums;
    const std::vector<StateSlice> pending = pending_;
    bool placed = true;
    for (int round = 0; round < kRoundsForRoom && placed; ++round) {
      // One that has more than its even part of what a node shares may fit.
      for (int d = 0; d < task_.devices && state_.sums.missing_bytes > 0; ++d) make_room(d);
      rebuild_.begin();
      for (const StateSlice& slice : pending_) rebuild_.add(slice);
      for (const auto& [table, way] : new_tables_) {
        // One where costs overflow or are 0, so that this is no number.
        const double wanted = alone_ms(table) / most_ms;
        const double slices = wanted > 1.0 ? std::ceil(std::min(wanted, 1e6)) : 1.0;
        if (round == 0) rebuild_.put_in(table, {way, static_cast<int>(slices)});
      }
      pending_.clear();
      placed = rebuild_.place(0.0);
      if (placed) prices_.apply(rebuild_.edit());
      if (state_.sums.missing_bytes == 0) break;
    }
    std::optional<Plan> plan;
    if (placed) plan = from_.canonical.plan_of_listed(state_.plan());
    prices_.undo(before);
    pending_ = pending;
    return plan;
  }

  const CarriedStart& from_;
  const Task& task_;
  NearState near_;
  std::vector<StateSlice> pending_;
  std::vector<std::pair<int, Way>> new_tables_;
  PlanState state_;
  StatePrices prices_;
  Random random_{0, 0};
  Rebuild rebuild_;
};

/// Changes the places of slices: units of `unit` devices change places within each `parent`
/// devices, where blocks of a table that lie on several units are about as large as each other.
/// Units that would keep most choose first. Slices on more devices than a unit stay.
void renumber(PlanState& state, const BundledTask& bundled, const std::vector<int>& ids, int unit,
              int parent) {
  const int units = state.ways().devices() / unit;  // Devices beyond keep what they have.
  const int siblings = std::max(1, parent / unit);
  const auto places_of = [&](const StateSlice& slice) {
    return unit / state.ways().group(slice.way);  // In a unit.
  };
  const auto moved_to = [&](const StateSlice& slice, int to) {
    StateSlice there = slice;
    there.place = to * places_of(slice) + slice.place % places_of(slice);
    return there;
  };
  const auto unit_of = [&](const StateSlice& slice) { return slice.place / places_of(slice); };
  const MovedBytes& moved = *state.moved();
  Edit edit;
  std::map<std::pair<int, int>, std::int64_t> kept;  // By a unit as it is numbered as another.
  for (const int id : ids) {
    const StateSlice& slice = state.slice(id);
    if (state.ways().group(slice.way) > unit || unit_of(slice) >= units) continue;
    edit.out.push_back(id);
    // Beyond all that hold some.
    const std::int64_t bytes = moved.about(moved_to(slice, units + 1));
    std::set<int> holders;
    for (const RunningSlice& one :
         moved.terms().holders.slices(bundled.original[static_cast<std::size_t>(slice.table)])) {
      if (one.device) holders.insert(static_cast<int>(*one.device) / unit);
    }
    for (const int to : holders) {
      if (to >= units || to / siblings != unit_of(slice) / siblings) continue;
      kept[{unit_of(slice), to}] += bytes - moved.about(moved_to(slice, to));
    }
  }
  std::vector<std::tuple<std::int64_t, int, int>> wishes;
  wishes.reserve(kept.size());
  for (const auto& [pair, bytes] : kept) wishes.emplace_back(-bytes, pair.first, pair.second);
  std::ranges::sort(wishes);
  std::vector<int> number(static_cast<std::size_t>(units), kNowhere);
  std::vector<bool> taken(number.size(), false);
  const auto take = [&](int of, int to) {
    number[static_cast<std::size_t>(of)] = to;
    taken[static_cast<std::size_t>(to)] = true;
  };
  for (const auto& [bytes, of, to] : wishes) {
    if (number[static_cast<std::size_t>(of)] == kNowhere && !taken[static_cast<std::size_t>(to)]) {
      take(of, to);
    }
  }
  // The others go in a row.
  for (int of = 0, to = 0; of < units; ++of) {
    if (of % siblings == 0) to = of;
    if (number[static_cast<std::size_t>(of)] != kNowhere) continue;
    while (taken[static_cast<std::size_t>(to)]) ++to;
    take(of, to);
  }
  for (const int id : edit.out) {
    const StateSlice& slice = state.slice(id);
    edit.in.push_back(moved_to(slice, number[static_cast<std::size_t>(unit_of(slice))]));
  }
  state.apply(edit);
}

}  // namespace

std::vector<Plan> CarriedStart::plans(std::span<const CarriedTable> tables) const {
  std::vector<Plan> plans = StartMaker(*this, tables).run();
  if (const Task& task = moves.holders.task(); task.devices == 1) {
    plans.push_back({.slices = whole_tables(task), .shards = {count_up<int>(task.tables.size())}});
  }
  return plans;
}

std::vector<Plan> CarriedStart::kept(const Plan& plan) const {
  NearState near(*this);
  PlanState state(near.catalog, near.ways, canonical.plan_of_task(plan), &near.moved);
  std::vector<Plan> plans = {canonical.plan_of_listed(state.plan())};
  const Task& task = canonical.task;
  const auto limits = [&](const Table& table) { return limits_places(task, table); };
  // Each device is itself.
  if (!has_equal_devices(task) || std::ranges::any_of(task.tables, limits)) return plans;
  std::vector<int> ids;
  std::set<int, std::greater<>> units = {1};
  for (const int table : state.tables()) {
    const Way way = state.way_of(table);
    if (near.ways.is_everywhere(way)) continue;
    units.insert(near.ways.group(way));
    ids.insert(ids.end(), state.of_table(table).begin(), state.of_table(table).end());
  }
  const bool nodes_matter =
      task.links || pools_host_memory(task) || backend.nodes(task.devices) != nullptr;
  const bool by_nodes = near.ways.places(Way::kNode) > 1 &&
                        (nodes_matter || has_row_blocks(moves.holders.task(), plan));
  if (ids.empty() || (nodes_matter && !by_nodes)) return plans;
  if (by_nodes) units.insert(near.ways.group(Way::kNode));
  int parent = task.devices;
  for (const int unit : units) {
    renumber(state, canonical, ids, unit, parent);
    plans.push_back(canonical.plan_of_listed(state.plan()));
    parent = unit;
  }
  return plans;
}

}  // namespace neuroshard
