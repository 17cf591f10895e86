#include "search/replanning/carried_start.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/random.h"
#include "core/plans/equal_blocks.h"
#include "core/tables/table_rules.h"
#include "search/apart_devices.h"
#include "search/moves/rebuild.h"
#include "search/plan_bytes.h"
#include "search/state/even_blocks.h"
#include "search/state/plan_limits.h"
#include "search/state/plan_state.h"
#include "search/state/shard_catalog.h"
#include "search/state/state_prices.h"

namespace neuroshard {
namespace {

// Most that one of the slices to be placed may cost, as shares of the mean cost of a device.
constexpr std::array<double, 5> kShares = {std::numeric_limits<double>::infinity(), 1.0, 0.25, 0.06,
                                           0.01};
// More starts than these are looked for only if none fits.
constexpr std::size_t kSharesOfCost = 3;

/// Puts a start together, for the canonical task.
class StartMaker {
 public:
  explicit StartMaker(CarriedStart from)
      : from_(from),
        task_(from_.canonical.task),
        catalog_(from_.backend, from_.canonical),
        ways_(catalog_, from_.canonical, from_.ways),
        moved_(from_.moves, from_.canonical, ways_),
        state_(catalog_, ways_, placed(), &moved_),
        prices_(state_),
        rebuild_(state_, prices_, random_) {
    make_room();
    prices_.price_state();
  }

  std::vector<Plan> run() {
    std::vector<Plan> plans;
    double mean_ms = 0.0;
    for (int t = 0; std::cmp_less(t, task_.tables.size()); ++t) {
      const int dim = task_.tables[static_cast<std::size_t>(t)].dim;
      mean_ms += std::max(0.0, catalog_.alone_ms(catalog_.shard(catalog_.all_rows(t), dim)));
    }
    mean_ms /= task_.devices;
    for (std::size_t i = 0; i < kShares.size(); ++i) {
      if (!plans.empty() && (i >= kSharesOfCost || pending_.empty() || from_.stop.reached())) break;
      if (std::optional<Plan> plan = placed_with(kShares[i] * mean_ms)) {
        plans.push_back(*std::move(plan));
      }
    }
    return plans;
  }

 private:
  /// Slices that have a place, in the columns that they run in. The others are pending.
  Plan placed() {
    Plan plan;
    plan.shards.resize(static_cast<std::size_t>(task_.devices));
    tables_on_.resize(plan.shards.size());
    std::vector<char> is_bundle(task_.tables.size(), 0);
    for (const BundledTask::Bundle& bundle : from_.canonical.bundles) is_bundle[bundle.table] = 1;
    for (std::size_t t = 0; t < task_.tables.size(); ++t) {
      const int table = static_cast<int>(t);
      const CarriedTable& carried = from_.tables[from_.canonical.original[t]];
      if (carried.way == Way::kReplica) plan.replicas.push_back(table);
      for (HeldSlice held : carried.in_place) {
        held.slice.table = table;
        put(plan, held.slice, held.device);
      }
      std::vector<StateSlice> slices = carried.slices;
      if (is_bundle[t] != 0)
        slices = {{table, task_.tables[t].dim, Way::kDevice, device_of_bundle(t)}};
      int column = 0;
      for (StateSlice& slice : slices) {
        slice.table = table;
        if (slice.way == Way::kDevice && slice.place != kNowhere &&
            (meets(slice) || !ways_.of(table).may_be_at(slice.way, slice.place))) {
          slice.place = kNowhere;
        }
        if (slice.place == kNowhere) {
          pending_.push_back(slice);
        } else {
          put_blocks(plan, slice, column);
        }
        column += slice.width;
      }
    }
    return plan;
  }

  static void put(Plan& plan, const TableSlice& slice, int device) {
    plan.shards[static_cast<std::size_t>(device)].push_back(static_cast<int>(plan.slices.size()));
    plan.slices.push_back(slice);
  }

  void put_blocks(Plan& plan, const StateSlice& slice, int column) {
    const std::int64_t rows = task_.tables[static_cast<std::size_t>(slice.table)].rows;
    const TableSlice columns{slice.table, column, slice.width, 0, rows};
    if (slice.way == Way::kDevice) {
      tables_on_[static_cast<std::size_t>(slice.place)].push_back(slice.table);
      return put(plan, columns, slice.place);
    }
    const int group = ways_.group(slice.way);
    add_blocks(plan, task_, columns, slice.place * group, group);
  }

  [[nodiscard]] bool meets(const StateSlice& slice) const {
    return ways_.any_apart() &&
           std::ranges::any_of(tables_on_[static_cast<std::size_t>(slice.place)], [&](int other) {
             return other != slice.table && ways_.apart(slice.table, other);
           });
  }

  /// The one that holds most of a bundle, or kNowhere if none holds any.
  [[nodiscard]] int device_of_bundle(std::size_t t) const {
    const int table = static_cast<int>(t);
    const auto about = [&](int device) {
      return moved_.about({table, task_.tables[t].dim, Way::kDevice, device});
    };
    const int beyond = task_.devices;  // It holds nothing.
    int best = kNowhere;
    std::int64_t least = about(beyond);
    for (int d = 0; d < task_.devices; ++d) {
      if (!ways_.of(table).may_be_at(Way::kDevice, d)) continue;
      if (const std::int64_t bytes = about(d); bytes < least) {
        least = bytes;
        best = d;
      }
    }
    return best;
  }

  // --------------------------------------------------------------------------------- room

  /// Devices that hold more than they can give some of it up.
  void make_room() {
    for (int d = 0; d < task_.devices; ++d) {
      while (excess_of(d) > 0) {
        const int id = slice_to_give(d, excess_of(d));
        if (id < 0) break;
        give(id, excess_of(d));
      }
    }
  }

  [[nodiscard]] std::int64_t excess_of(int device) const {
    return state_.sums.bytes[static_cast<std::size_t>(device)] + state_.sums.replica_bytes -
           prices_.room_bytes(device);
  }

  [[nodiscard]] std::int64_t bytes_of(const StateSlice& slice, int width) {
    return catalog_.load(catalog_.shard(catalog_.all_rows(slice.table), width)).bytes;
  }

  /// The smallest that is enough, or the largest; none that may be nowhere else, as long as there
  /// are others. -1: there is none.
  [[nodiscard]] int slice_to_give(int device, std::int64_t excess) {
    const auto rank = [&](int id) {
      const StateSlice& slice = state_.slice(id);
      const TableWays::OfTable& of = ways_.of(slice.table);
      const bool pinned = !of.allowed.empty() && std::ranges::count(of.allowed.front(), true) == 1;
      const std::int64_t bytes = bytes_of(slice, slice.width);
      return std::tuple(pinned, bytes < excess, bytes < excess ? -bytes : bytes);
    };
    int best = -1;
    for (const int id : state_.at(Way::kDevice, device)) {
      if (best < 0 || rank(id) < rank(best)) best = id;
    }
    return best;
  }

  /// As few columns of it as are enough, if it may be cut so.
  void give(int id, std::int64_t excess) {
    const StateSlice slice = state_.slice(id);
    StateSlice stays = slice;
    StateSlice goes = slice;
    Edit edit;
    edit.out = {id};
    edit.in = {};
    const std::int64_t all = bytes_of(slice, slice.width);
    const int most = ways_.of(slice.table).most_slices(slice.way);
    const bool may_cut =
        std::cmp_less(state_.of_table(slice.table).size() + count_pending(slice), most) &&
        !ways_.equal_widths() && all > excess;
    if (may_cut && ways_.halves(slice.table)) {
      std::vector<StateSlice> gone{goes};
      while (can_split_columns(gone.back().width)) {
        StateSlice half = gone.back();
        half.width /= 2;
        std::int64_t left = bytes_of(half, half.width);
        for (const StateSlice& one : edit.in) left += bytes_of(one, one.width);
        if (all - left < excess || !ways_.may_be_wide(slice.table, half.width)) break;
        gone.back() = half;
        edit.in.push_back(half);
      }
      goes = gone.back();
    } else if (may_cut) {
      for (int width = kDimMultiple; width < slice.width; width += kDimMultiple) {
        goes.width = width;
        stays.width = slice.width - width;
        if (all - bytes_of(stays, stays.width) < excess) continue;
        if (!ways_.may_be_wide(slice.table, width) ||
            !ways_.may_be_wide(slice.table, stays.width)) {
          continue;
        }
        edit.in = {stays};
        break;
      }
      if (edit.in.empty()) goes = slice;
    }
    state_.apply(edit);
    goes.place = kNowhere;
    pending_.push_back(goes);
  }

  [[nodiscard]] std::size_t count_pending(const StateSlice& slice) const {
    return static_cast<std::size_t>(std::ranges::count(pending_, slice.table, &StateSlice::table));
  }

  // ------------------------------------------------------------------------------- places

  /// Slices of a pending one that are no dearer, as far as they may be narrower.
  void add_pending(const StateSlice& slice, double most_ms) {
    const TableWays::OfTable& of = ways_.of(slice.table);
    std::int64_t wanted = 1;
    if (slice.way == Way::kDevice) {
      const double alone_ms =
          catalog_.alone_ms(catalog_.shard(catalog_.all_rows(slice.table), slice.width));
      const double by_ms = std::isfinite(most_ms) && most_ms > 0.0 ? alone_ms / most_ms : 1.0;
      const double by_bytes =
          static_cast<double>(bytes_of(slice, slice.width)) / static_cast<double>(most_room());
      wanted =
          static_cast<std::int64_t>(std::ceil(std::clamp(std::max(by_ms, by_bytes), 1.0, 1e6)));
    }
    int& added = added_[static_cast<std::size_t>(slice.table)];
    const auto in_all =
        static_cast<std::int64_t>(state_.of_table(slice.table).size() + count_pending(slice)) +
        added;
    const std::int64_t units = slice.width / kDimMultiple;
    std::int64_t count = std::min({wanted, units, of.most_slices(Way::kDevice) - in_all + 1});
    if (ways_.equal_widths() && in_all > 1) count = 1;  // They are as wide as the others.
    const auto is_possible = [&] {
      const bool even = !ways_.equal_widths() && !ways_.halves(slice.table);
      return (even || units % count == 0) &&
             ways_.may_be_wide(slice.table, kDimMultiple * static_cast<int>(units / count));
    };
    while (count > 1 && !is_possible()) --count;
    count = std::max<std::int64_t>(1, count);
    added += static_cast<int>(count) - 1;
    for (std::int64_t i = 0; i < count; ++i) {
      StateSlice part = slice;
      if (count > 1) {
        part.width = kDimMultiple * static_cast<int>(units / count + (i < units % count ? 1 : 0));
      }
      rebuild_.add(part);
    }
  }

  [[nodiscard]] std::int64_t most_room() const {
    std::int64_t room = 1;
    for (int d = 0; d < task_.devices; ++d) room = std::max(room, prices_.room_bytes(d));
    return room;
  }

  std::optional<Plan> placed_with(double most_ms) {
    state_.begin_undo();
    const PlanSums before = state_.sums;
    rebuild_.begin();
    added_.assign(task_.tables.size(), 0);
    for (const StateSlice& slice : pending_) add_pending(slice, most_ms);
    std::optional<Plan> plan;
    if (rebuild_.place(0.0)) {
      prices_.apply(rebuild_.edit());
      if (state_.sums.missing_bytes == 0) {
        plan = from_.canonical.plan_of_listed(state_.plan());
      }
    }
    prices_.undo(before);
    return plan;
  }

  CarriedStart from_;
  const Task& task_;
  ShardCatalog catalog_;
  TableWays ways_;
  MovedBytes moved_;
  std::vector<StateSlice> pending_;
  std::vector<int> added_;                   ///< [tables]: slices by cutting pending ones.
  std::vector<std::vector<int>> tables_on_;  ///< [devices]: those in columns there.
  PlanState state_;
  StatePrices prices_;
  Random random_{0, 0};
  Rebuild rebuild_;
};

/// The canonical task with rules on devices in the place of its groups, so that tables that are
/// kept apart have those of their devices that they need not leave to others.
std::optional<Task> with_devices_that_hold(const RunningHolders& holders,
                                           const CanonicalTask& canonical,
                                           const StopCondition& stop) {
  const Task& task = canonical.task;
  if (task.devices < 2) return std::nullopt;
  std::vector<std::vector<int>> held(task.tables.size(),
                                     std::vector<int>(static_cast<std::size_t>(task.devices), 0));
  for (std::size_t t = 0; t < held.size(); ++t) {
    for (const RunningSlice& one : holders.slices(canonical.original[t])) {
      if (one.device) held[t][*one.device] += one.slice.dim;
    }
  }
  return with_devices_of_apart_tables(task, held, stop);
}

}  // namespace

std::vector<Plan> CarriedStart::plans() const {
  if (!canonical.task.groups.empty()) {
    if (const std::optional<Task> ruled = with_devices_that_hold(moves.holders, canonical, stop)) {
      CanonicalTask with_rules = canonical;
      with_rules.task = *ruled;
      std::vector<Plan> plans = StartMaker({.backend = backend,
                                            .canonical = with_rules,
                                            .ways = ways,
                                            .moves = moves,
                                            .tables = tables,
                                            .stop = stop})
                                    .run();
      if (!plans.empty()) return plans;
    }
  }
  if (canonical.task.devices > 1) return StartMaker(*this).run();
  // One device has all of each table, in the slices that run or in one.
  const Task& task = moves.holders.task();
  Plan as_they_run;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    TableSlice slice{static_cast<int>(t), 0, task.tables[t].dim, 0, task.tables[t].rows};
    if (tables[t].way != Way::kDevice) {
      as_they_run.slices.push_back(slice);
      continue;
    }
    for (const StateSlice& one : tables[t].slices) {
      slice.dim = one.width;
      as_they_run.slices.push_back(slice);
      slice.first_column += one.width;
    }
  }
  std::vector<Plan> plans;
  for (Plan plan : {as_they_run, plan_of_one_group(task)}) {
    plan.shards.resize(1);
    plan.shards.front().resize(plan.slices.size());
    std::iota(plan.shards.front().begin(), plan.shards.front().end(), 0);
    if (plan_bytes(task, plan).front() <= room_bytes(task, 0)) plans.push_back(std::move(plan));
  }
  return plans;
}

Plan with_kept_columns(const Backend& backend, const CanonicalTask& canonical,
                       const WayOptions& ways, const MoveTerms& moves, const Plan& plan) {
  ShardCatalog catalog(backend, canonical);
  const TableWays table_ways(catalog, canonical, ways);
  MovedBytes moved(moves, canonical, table_ways);
  const PlanState state(catalog, table_ways, canonical.plan_of_task(plan), &moved);
  return canonical.plan_of_listed(state.plan());
}

Plan renumbered_to_keep(const RunningHolders& holders, Plan plan) {
  const Task& task = holders.task();
  if (!has_equal_devices(task) || any_limits_devices(task)) return plan;  // Each is itself.
  const std::vector<int> groups = block_groups(task);
  const bool by_nodes = groups.size() > 1 && (task.links || has_row_blocks(task, plan));
  if (!by_nodes && task.links) return plan;
  // Blocks of rows on nodes stay side by side, and row-wise ones in their order.
  std::vector<std::int64_t> most_rows(task.tables.size(), 0);
  for (const TableSlice& slice : plan.slices) {
    std::int64_t& most = most_rows[static_cast<std::size_t>(slice.table)];
    most = std::max(most, slice.rows);
  }
  const auto is_row_wise = [&](const TableSlice& slice) {
    const auto t = static_cast<std::size_t>(slice.table);
    return is_row_block(task, slice) &&
           most_rows[t] <= rows_of_block(task.tables[t].rows, task.devices);
  };
  const auto unit = static_cast<std::size_t>(by_nodes ? groups.back() : 1);
  const std::size_t units = plan.shards.size() / unit;
  std::vector<std::int64_t> kept(units * units, 0);
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int index : plan.shards[d]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      if (is_row_wise(slice)) continue;
      const auto t = static_cast<std::size_t>(slice.table);
      const RowBytes row = stored_bytes(task.tables[t].memory);
      for (const RunningSlice& one : holders.slices(t)) {
        if (!one.device || *one.device % unit != d % unit) continue;
        const std::int64_t rows = std::min({slice.rows, one.slice.rows, holders.kept_rows(t)});
        kept[d / unit * units + *one.device / unit] +=
            rows * row.per_column * std::min(slice.dim, one.slice.dim);
      }
    }
  }
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] > 0) pairs.push_back(i);
  }
  std::ranges::stable_sort(pairs, std::greater<>(), [&](std::size_t i) { return kept[i]; });
  std::vector<std::optional<std::size_t>> number(units);
  std::vector<char> taken(units, 0);
  const auto give = [&](std::size_t one, std::size_t wanted) {
    if (number[one] || taken[wanted] != 0) return;
    number[one] = wanted;
    taken[wanted] = 1;
  };
  for (const std::size_t pair : pairs) give(pair / units, pair % units);
  std::size_t free = 0;
  for (std::size_t one = 0; one < units; ++one) {
    while (free < units && taken[free] != 0) ++free;
    if (free < units) give(one, free);
  }
  std::vector<std::vector<int>> shards(plan.shards.size());
  for (std::size_t d = 0; d < shards.size(); ++d) {
    for (const int index : plan.shards[d]) {
      const bool stays = is_row_wise(plan.slices[static_cast<std::size_t>(index)]);
      shards[stays ? d : *number[d / unit] * unit + d % unit].push_back(index);
    }
  }
  plan.shards = std::move(shards);
  return plan;
}

}  // namespace neuroshard
