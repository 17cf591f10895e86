#include "search/replanning/carried_tables.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "core/plans/equal_blocks.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/state/slices_in_ways.h"

namespace neuroshard {
namespace {

using Slices = std::vector<StateSlice>;

class Carrier {
 public:
  Carrier(const RunningHolders& holders, const CarryOptions& options)
      : holders_(holders),
        task_(holders.task()),
        options_(options),
        apart_(holders.task()),
        running_(slices_by_table(holders.running().task, holders.running().plan)) {}

  std::vector<CarriedTable> run() const {
    std::vector<CarriedTable> tables;
    for (std::size_t t = 0; t < task_.tables.size(); ++t) tables.push_back(carry(t));
    return tables;
  }

 private:
  [[nodiscard]] const Table& table(std::size_t t) const { return task_.tables[t]; }
  [[nodiscard]] StateSlice whole(std::size_t t, Way way, int place) const {
    return {static_cast<int>(t), table(t).dim, way, place};
  }
  /// Devices side by side that hold a slice.
  [[nodiscard]] int group(Way way) const { return devices_of_slice(task_, way); }
  /// So many slices at most.
  [[nodiscard]] int most_slices(std::size_t t, Way way) const {
    return options_.ways.parts || !is_of_part(way) ? most_slices_of(task_, table(t), way) : 0;
  }
  [[nodiscard]] bool may_be(std::size_t t, Way way) const {
    if (way != Way::kReplica) return most_slices(t, way) > 0;
    return task_.devices > 1 && may_be_sharded(task_, table(t), ShardingKind::kReplicate);
  }
  /// Whether rules let a table be on all devices of a place.
  [[nodiscard]] bool may_be_at(std::size_t t, Way way, int place) const {
    return neuroshard::may_be_at(task_, table(t), allowed_set(table(t).rules, task_), group(way),
                                 place);
  }
  [[nodiscard]] std::int64_t moved_bytes(const Slices& slices) const {
    std::int64_t bytes = 0;
    int column = 0;
    for (const StateSlice& slice : slices) {
      const auto t = static_cast<std::size_t>(slice.table);
      const TableSlice columns{slice.table, std::exchange(column, column + slice.width),
                               slice.width, 0, table(t).rows};
      if (slice.way == Way::kReplica) {
        if (table(t).size_bytes() > kMaxTaskBytes / task_.devices) return kMaxTaskBytes;
        for (int d = 0; d < task_.devices; ++d) bytes += holders_.moved_bytes(columns, d);
        continue;
      }
      const bool nowhere = slice.place == kNowhere;  // As on a device that holds nothing.
      for_each_block(columns, slice.place * group(slice.way), group(slice.way),
                     [&](const TableSlice& block, int device) {
                       bytes += holders_.moved_bytes(block, nowhere ? task_.devices : device);
                     });
    }
    return bytes;
  }

  /// As slices of the running task: in a way that `t` may have, if there is one. Nothing: its
  /// blocks of rows are of no way.
  [[nodiscard]] std::optional<Slices> as_it_runs(std::size_t t, std::size_t running) const {
    const Task& task = holders_.running().task;
    std::vector<int> groups;
    std::vector<int> groups_that_may;
    for (const WayForm& form : way_forms()) {
      const auto way = static_cast<Way>(groups.size());
      groups.push_back(form.deduplicated ? 0 : form.group(task));
      groups_that_may.push_back(may_be(t, way) ? groups.back() : 0);
    }
    std::vector<HeldSlice> held = running_[running];
    std::optional<Slices> slices = slices_in_ways(task, held, groups_that_may);
    return slices ? slices : slices_in_ways(task, held, groups);
  }

  CarriedTable carry(std::size_t t) const {
    const bool columns = may_be(t, Way::kDevice);
    const std::optional<std::size_t> before = holders_.before(t);
    if (before && holders_.is_replicated(t) && may_be(t, Way::kReplica) &&
        (options_.keep_replicas || !columns)) {
      return in_slices({whole(t, Way::kReplica, 0)});
    }
    if (before && !holders_.is_replicated(t)) {
      const std::optional<Slices> runs = as_it_runs(t, *before);
      const bool row_wise = runs && runs->front().way == Way::kAll;
      if (row_wise && may_be(t, Way::kAll)) return this->row_wise(t);
      if (!runs || runs->front().way != Way::kDevice) {
        std::optional<CarriedTable> kept;
        if (options_.keep_blocks && !row_wise) {
          kept = runs ? kept_on_groups(t, *runs) : kept_in_place(t, *before);
        }
        return kept ? *std::move(kept) : out_of_blocks(t, columns);
      }
    }
    return columns ? in_columns(t) : in_another_way(t);
  }

  [[nodiscard]] CarriedTable in_slices(Slices slices) const {
    const std::int64_t bytes = moved_bytes(slices);
    const Way way = slices.front().way;
    return {.way = way, .slices = std::move(slices), .moved_bytes = bytes};
  }

  [[nodiscard]] CarriedTable row_wise(std::size_t t) const {
    return in_slices({whole(t, Way::kAll, 0)});
  }

  /// A table that is not in columns, and cannot stay as it runs.
  [[nodiscard]] CarriedTable in_another_way(std::size_t t) const {
    if (!options_.ways.replicas) return {};
    if (may_be(t, Way::kAll)) return row_wise(t);
    if (may_be(t, Way::kNode)) {
      return {.way = Way::kNode, .moved_bytes = holders_.missing_bytes(t)};
    }
    if (may_be(t, Way::kReplica)) return in_slices({whole(t, Way::kReplica, 0)});
    return {};
  }

  /// One slice on the device that holds most of it, or row-wise, whichever is less to be sent.
  [[nodiscard]] CarriedTable out_of_blocks(std::size_t t, bool columns) const {
    std::optional<CarriedTable> least;
    if (may_be(t, Way::kAll) && options_.ways.replicas) least = row_wise(t);
    for (int d = 0; columns && (options_.keep_blocks || !least) && d < task_.devices; ++d) {
      if (!may_be_at(t, Way::kDevice, d)) continue;
      CarriedTable there = in_slices({whole(t, Way::kDevice, d)});
      if (!least || there.moved_bytes < least->moved_bytes) least = std::move(there);
    }
    if (!least) least = in_another_way(t);
    least->moved_bytes = std::max(least->moved_bytes, holders_.missing_bytes(t));
    return *std::move(least);
  }

  // ------------------------------------------------------------------------------- blocks

  [[nodiscard]] bool may_stay(std::size_t t, Way way, std::size_t slices) const {
    if (!may_be(t, way)) return false;
    if (slices == 1) return true;  // A grid may be made of it.
    return std::cmp_less_equal(slices, most_slices(t, way)) &&
           table(t).dim / static_cast<int>(slices) >= least_width(table(t));
  }

  /// The group of devices of the new task that a running one is, if none of its devices is lost.
  [[nodiscard]] int group_now(Way way, int running_group) const {
    const auto before = static_cast<std::size_t>(devices_of_slice(holders_.running().task, way));
    const auto of_group = static_cast<std::uint32_t>(group(way));
    const auto left = std::span(holders_.places().devices)
                          .subspan(static_cast<std::size_t>(running_group) * before, before);
    if (before != of_group || left.front().empty()) return kNowhere;
    const std::uint32_t first = left.front().front();
    if (first % of_group != 0) return kNowhere;
    for (std::size_t i = 0; i < before; ++i) {
      if (left[i].empty() || left[i].front() != first + static_cast<std::uint32_t>(i)) {
        return kNowhere;
      }
    }
    return static_cast<int>(first / of_group);
  }

  /// On the groups of devices that it is on, or anywhere where a device of these is lost.
  [[nodiscard]] std::optional<CarriedTable> kept_on_groups(std::size_t t, Slices slices) const {
    if (!may_stay(t, slices.front().way, slices.size())) return std::nullopt;
    for (StateSlice& slice : slices) {
      slice.table = static_cast<int>(t);
      slice.place = group_now(slice.way, slice.place);
      if (slice.place != kNowhere && !may_be_at(t, slice.way, slice.place)) slice.place = kNowhere;
    }
    return in_slices(std::move(slices));
  }

  /// Any blocks of rows, if they may all stay on their devices; the last ones get the rows that the
  /// table has grown by.
  [[nodiscard]] std::optional<CarriedTable> kept_in_place(std::size_t t,
                                                          std::size_t running) const {
    const Table& before = holders_.running().task.tables[running];
    const Table& now = table(t);
    // Tables that groups keep apart might meet where one is in no way.
    if (now.rows < before.rows || now.rules.kinds != before.rules.kinds ||
        now.rules.limit_splits() || !apart_.groups_of(t).empty()) {
      return std::nullopt;
    }
    CarriedTable kept;
    for (const RunningSlice& one : holders_.slices(t)) {
      if (!one.device) return std::nullopt;
      const int device = static_cast<int>(*one.device);
      if (!may_be_at(t, Way::kDevice, device)) return std::nullopt;
      TableSlice slice = one.slice;
      slice.table = static_cast<int>(t);
      if (slice.first_row + slice.rows == before.rows) slice.rows = now.rows - slice.first_row;
      kept.in_place.push_back({slice, device});
      kept.moved_bytes += holders_.moved_bytes(slice, device);
    }
    return kept;
  }

  // ------------------------------------------------------------------------------ columns

  [[nodiscard]] CarriedTable in_columns(std::size_t t) const {
    CarriedTable carried{.way = Way::kDevice, .moved_bytes = holders_.missing_bytes(t)};
    std::vector<int> widths;
    for (const RunningSlice& one : holders_.slices(t)) widths.push_back(one.slice.dim);
    Slices slices = recut(t, widths);
    const auto is_lost = [](const StateSlice& slice) { return slice.place == kNowhere; };
    if (std::ranges::all_of(slices, is_lost)) return carried;
    keep_rules(t, slices);
    if (options_.ways.equal_widths) equalize(t, slices);
    int column = 0;
    for (const StateSlice& slice : slices) {
      carried.odd_widths |= options_.ways.halves && !is_node(t, column, slice.width);
      column += slice.width;
    }
    carried.slices = std::move(slices);
    return carried;
  }

  /// Columns of these widths, each on the device that holds most of them and may.
  [[nodiscard]] Slices recut(std::size_t t, const std::vector<int>& widths) const {
    const DeviceSet allowed = allowed_set(table(t).rules, task_);
    Slices slices;
    int column = 0;
    for (const int width : widths) {
      std::map<int, int> held;  // By each device.
      for (const RunningSlice& one : holders_.slices(t)) {
        const int columns = std::min(one.slice.first_column + one.slice.dim, column + width) -
                            std::max(one.slice.first_column, column);
        if (columns > 0 && one.device && allowed.contains(*one.device)) {
          held[static_cast<int>(*one.device)] += columns;
        }
      }
      const auto most = std::ranges::max_element(held, {}, &std::pair<const int, int>::second);
      slices.push_back(
          {static_cast<int>(t), width, Way::kDevice, most == held.end() ? kNowhere : most->first});
      column += width;
    }
    return slices;
  }

  /// Joins neighbours where rules find slices too narrow or too many: those on one device, then
  /// those of which one is narrowest. They go where most of them is.
  void keep_rules(std::size_t t, Slices& slices) const {
    const auto break_rules = [&] {
      return std::cmp_greater(slices.size(), most_slices(t, Way::kDevice)) ||
             std::ranges::min(slices, {}, &StateSlice::width).width < least_width(table(t));
    };
    while (slices.size() > 1 && break_rules()) {
      std::vector<int> widths;
      std::size_t first = 0;
      int least = std::numeric_limits<int>::max();
      for (std::size_t i = 0; i < slices.size(); ++i) {
        widths.push_back(slices[i].width);
        if (i == 0) continue;
        const bool together = slices[i].place == slices[i - 1].place;
        const int sent = together ? 0 : std::min(widths[i - 1], widths[i]);
        if (sent >= least) continue;
        least = sent;
        first = i - 1;
      }
      widths[first] += widths[first + 1];
      widths.erase(widths.begin() + static_cast<std::ptrdiff_t>(first) + 1);
      slices = recut(t, widths);
    }
  }

  /// As many slices of one width as rules allow and are least to be sent.
  void equalize(std::size_t t, Slices& slices) const {
    const auto has_one_width = [&](const StateSlice& one) {
      return one.width == slices.front().width;
    };
    if (std::ranges::all_of(slices, has_one_width)) return;
    const int dim = table(t).dim;
    std::int64_t least_bytes = kAnyBytes;
    for (int width = dim; width >= std::max(kDimMultiple, least_width(table(t)));
         width -= kDimMultiple) {
      if (dim % width != 0) continue;
      if (dim / width > most_slices(t, Way::kDevice)) break;
      Slices equal = recut(t, std::vector<int>(static_cast<std::size_t>(dim / width), width));
      const std::int64_t bytes = moved_bytes(equal);
      if (bytes >= least_bytes) continue;
      least_bytes = bytes;
      slices = std::move(equal);
    }
  }

  [[nodiscard]] bool is_node(std::size_t t, int first_column, int width) const {
    return halved_to(width, table(t).dim) == width && first_column % width == 0;
  }

  const RunningHolders& holders_;
  const Task& task_;
  CarryOptions options_;
  ApartTables apart_;
  std::vector<std::vector<HeldSlice>> running_;  ///< [tables of the running plan]
};

}  // namespace

std::vector<CarriedTable> carried_tables(const RunningHolders& holders,
                                         const CarryOptions& options) {
  return Carrier(holders, options).run();
}

}  // namespace neuroshard
