#include "search/replanning/carried_tables.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "core/plans/equal_blocks.h"
#include "core/tables/table_rules.h"
#include "search/replanning/running_blocks.h"
#include "search/state/even_blocks.h"

namespace neuroshard {
namespace {

/// Columns side by side; `place`: the device that has them, or kNowhere.
struct Part {
  int width;
  int place;
};

class Carrier {
 public:
  Carrier(const RunningHolders& holders, const CarryOptions& options)
      : holders_(holders),
        task_(holders.task()),
        options_(options),
        blocks_(running_blocks(holders.running())) {}

  std::vector<CarriedTable> run() {
    std::vector<CarriedTable> tables;
    for (std::size_t t = 0; t < task_.tables.size(); ++t) tables.push_back(carry(t));
    return tables;
  }

 private:
  [[nodiscard]] const Table& table(std::size_t t) const { return task_.tables[t]; }
  [[nodiscard]] TableSlice whole(std::size_t t) const {
    return {static_cast<int>(t), 0, table(t).dim, 0, table(t).rows};
  }
  [[nodiscard]] bool runs_in_blocks(std::size_t t) const {
    return std::ranges::any_of(holders_.slices(t), [&](const RunningSlice& held) {
      return is_row_block(holders_.running().task, held.slice);
    });
  }
  [[nodiscard]] bool may_be_row_wise(std::size_t t) const {
    return task_.devices > 1 && may_be_cut(task_, table(t), task_.devices);
  }
  [[nodiscard]] bool may_be_replica(std::size_t t) const {
    return task_.devices > 1 && may_be_sharded(task_, table(t), ShardingKind::kReplicate);
  }

  CarriedTable carry(std::size_t t) {
    const bool columns = may_be_in_columns(task_, table(t));
    if (const std::optional<std::size_t> before = holders_.before(t)) {
      const auto running = static_cast<std::uint32_t>(*before);
      if (holders_.is_replicated(t) && may_be_replica(t) && (options_.keep_replicas || !columns)) {
        return replica(t);
      }
      if (blocks_.row_wise.contains(running) && may_be_row_wise(t)) return row_wise(t);
      const bool on_nodes = blocks_.on_nodes.contains(running);
      if (options_.keep_blocks && !blocks_.row_wise.contains(running)) {
        std::optional<CarriedTable> kept =
            on_nodes ? kept_on_nodes(t, running) : kept_in_place(t, *before);
        if (kept) return *std::move(kept);
      }
      if (runs_in_blocks(t)) return out_of_blocks(t, columns);
    }
    return columns ? in_columns(t) : in_another_way(t);
  }

  CarriedTable replica(std::size_t t) const {
    CarriedTable kept{.way = Way::kReplica};
    if (table(t).size_bytes() > kMaxTaskBytes / task_.devices) {
      kept.moved_bytes = kMaxTaskBytes;
      return kept;
    }
    for (int d = 0; d < task_.devices; ++d) kept.moved_bytes += holders_.moved_bytes(whole(t), d);
    return kept;
  }

  [[nodiscard]] std::int64_t bytes_of_blocks(TableSlice slice, int first_device, int group) const {
    const std::int64_t rows = slice.rows;
    const std::int64_t of_block = rows_of_block(rows, group);
    std::int64_t bytes = 0;
    for (int d = 0; slice.first_row < rows; ++d, slice.first_row += of_block) {
      slice.rows = std::min(of_block, rows - slice.first_row);
      bytes += holders_.moved_bytes(slice, first_device + d);
    }
    return bytes;
  }

  CarriedTable row_wise(std::size_t t) const {
    return {.way = Way::kAll,
            .slices = {{static_cast<int>(t), table(t).dim, Way::kAll, 0}},
            .moved_bytes = bytes_of_blocks(whole(t), 0, task_.devices)};
  }

  /// A table that is not in columns, and cannot stay as it runs.
  CarriedTable in_another_way(std::size_t t) const {
    if (!options_.any_ways) return {};
    if (may_be_row_wise(t)) return row_wise(t);
    const std::vector<int> groups = block_groups(task_);
    if (groups.size() > 1 && may_be_cut(task_, table(t), groups.back())) {
      return {.way = Way::kNode,
              .slices = {{static_cast<int>(t), table(t).dim, Way::kNode, kNowhere}},
              .moved_bytes = holders_.missing_bytes(t)};
    }
    return may_be_replica(t) ? replica(t) : CarriedTable{};
  }

  /// One slice on the device that holds most of it, or row-wise, whichever is less to be sent.
  CarriedTable out_of_blocks(std::size_t t, bool columns) const {
    std::optional<CarriedTable> least;
    if (may_be_row_wise(t) && options_.any_ways) least = row_wise(t);
    const std::vector<bool> allowed = allowed_devices(table(t).rules, task_);
    for (int d = 0; columns && (options_.keep_blocks || !least) && d < task_.devices; ++d) {
      if (!allowed[static_cast<std::size_t>(d)]) continue;
      const std::int64_t bytes = holders_.moved_bytes(whole(t), d);
      if (least && least->moved_bytes <= bytes) continue;
      least = {.way = Way::kDevice,
               .slices = {{static_cast<int>(t), table(t).dim, Way::kDevice, d}},
               .moved_bytes = bytes};
    }
    if (!least) least = in_another_way(t);
    least->moved_bytes = std::max(least->moved_bytes, holders_.missing_bytes(t));
    return *least;
  }

  // ------------------------------------------------------------------------------- blocks

  /// Nodes of the new task whose devices may all hold blocks of a table.
  [[nodiscard]] std::vector<int> nodes_for(std::size_t t, int group) const {
    const std::vector<bool> allowed = allowed_devices(table(t).rules, task_);
    std::vector<int> nodes;
    for (int first = 0; first < task_.devices; first += group) {
      if (std::all_of(allowed.begin() + first, allowed.begin() + first + group, std::identity{})) {
        nodes.push_back(first / group);
      }
    }
    return nodes;
  }

  [[nodiscard]] bool may_stay_on_nodes(std::size_t t, int group, std::size_t slices) const {
    const Table& of = table(t);
    if (!may_be_cut(task_, of, group)) return false;
    if (slices == 1) return true;  // A grid may be made of it.
    const auto blocks = slices * static_cast<std::size_t>(count_of_blocks(of.rows, group));
    return may_be_sharded(task_, of, ShardingKind::kGrid) && !of.rules.no_split &&
           (of.rules.max_slices == 0 || std::cmp_less_equal(blocks, of.rules.max_slices)) &&
           of.dim / static_cast<int>(slices) >= least_width(of);
  }

  /// Whether the devices that are left of a running node are all of a node of the new task.
  [[nodiscard]] bool is_now(int running_node, int node, int group) const {
    const auto before = static_cast<std::size_t>(block_groups(holders_.running().task).back());
    if (before != static_cast<std::size_t>(group)) return false;
    const auto left =
        holders_.survivors().subspan(static_cast<std::size_t>(running_node) * before, before);
    for (std::size_t i = 0; i < before; ++i) {
      if (left[i] != static_cast<std::uint32_t>(node * group) + i) return false;
    }
    return true;
  }

  /// On the nodes that it is on, or, where a device of these is lost, on those that have least of
  /// such tables.
  std::optional<CarriedTable> kept_on_nodes(std::size_t t, std::uint32_t running) {
    const std::vector<int> groups = block_groups(task_);
    if (groups.size() < 2) return std::nullopt;
    const int group = groups.back();
    const std::vector<ColumnsInBlocks>& blocks = blocks_.on_nodes.at(running);
    const std::vector<int> nodes = nodes_for(t, group);
    if (nodes.empty() || !may_stay_on_nodes(t, group, blocks.size())) return std::nullopt;
    bytes_of_nodes_.resize(static_cast<std::size_t>(task_.devices / group));
    CarriedTable kept{.way = Way::kNode};
    for (const ColumnsInBlocks& of_columns : blocks) {
      auto node =
          std::ranges::find_if(nodes, [&](int one) { return is_now(of_columns.node, one, group); });
      if (node == nodes.end()) {
        node = std::ranges::min_element(
            nodes, {}, [&](int one) { return bytes_of_nodes_[static_cast<std::size_t>(one)]; });
      }
      TableSlice slice = whole(t);
      slice.first_column = of_columns.first_column;
      slice.dim = of_columns.dim;
      bytes_of_nodes_[static_cast<std::size_t>(*node)] += slice_bytes(task_, slice);
      kept.slices.push_back({static_cast<int>(t), slice.dim, Way::kNode, *node});
      kept.moved_bytes += bytes_of_blocks(slice, *node * group, group);
    }
    return kept;
  }

  /// Any blocks of rows, if they may all stay on their devices; the last ones get the rows that the
  /// table has grown by. Nothing if the table has none, or they may not.
  std::optional<CarriedTable> kept_in_place(std::size_t t, std::size_t running) const {
    const Table& before = holders_.running().task.tables[running];
    const Table& now = table(t);
    const std::vector<bool> allowed = allowed_devices(now.rules, task_);
    const auto may_stay = [&](const RunningSlice& one) {
      return one.device && allowed[*one.device];
    };
    if (!runs_in_blocks(t) || now.rows < before.rows || now.rules.kinds != before.rules.kinds ||
        now.rules.limit_splits() || !std::ranges::all_of(holders_.slices(t), may_stay)) {
      return std::nullopt;
    }
    CarriedTable kept;
    for (const RunningSlice& one : holders_.slices(t)) {
      TableSlice slice = one.slice;
      slice.table = static_cast<int>(t);
      if (slice.first_row + slice.rows == before.rows) slice.rows = now.rows - slice.first_row;
      const int device = static_cast<int>(*one.device);
      kept.in_place.push_back({slice, device});
      kept.moved_bytes += holders_.moved_bytes(slice, device);
    }
    return kept;
  }

  // ------------------------------------------------------------------------------ columns

  CarriedTable in_columns(std::size_t t) const {
    std::vector<Part> parts = parts_that_run(t);
    keep_rules(t, parts);
    if (options_.equal_widths) {
      equalize(t, parts);
    } else if (options_.join_lost) {
      join_lost(t, parts);
    }
    CarriedTable carried{.way = Way::kDevice, .moved_bytes = holders_.missing_bytes(t)};
    int column = 0;
    for (const Part& part : parts) {
      carried.slices.push_back({static_cast<int>(t), part.width, Way::kDevice, part.place});
      carried.odd_widths |= options_.halves && !is_node(t, column, part.width);
      column += part.width;
    }
    return carried;
  }

  std::vector<Part> parts_that_run(std::size_t t) const {
    std::vector<Part> parts;
    const std::vector<bool> allowed = allowed_devices(table(t).rules, task_);
    for (const RunningSlice& one : holders_.slices(t)) {
      const bool stays = one.device && allowed[*one.device];
      parts.push_back({one.slice.dim, stays ? static_cast<int>(*one.device) : kNowhere});
    }
    if (parts.empty()) parts.push_back({table(t).dim, kNowhere});
    return parts;
  }

  /// Joins neighbours where rules find slices too narrow or too many: those on one device, then the
  /// narrowest ones. They go where most of them is.
  void keep_rules(std::size_t t, std::vector<Part>& parts) const {
    const Table& of = table(t);
    const bool whole = of.rules.no_split || !of.rules.allow(ShardingKind::kColumn);
    const auto break_rules = [&](const std::vector<Part>& some) {
      return std::ranges::min_element(some, {}, &Part::width)->width < least_width(of) ||
             (of.rules.max_slices > 0 && std::cmp_greater(some.size(), of.rules.max_slices)) ||
             (whole && some.size() > 1);
    };
    if (!break_rules(parts)) return;
    std::vector<int> widths;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == 0 || parts[i].place == kNowhere || parts[i].place != parts[i - 1].place) {
        widths.push_back(0);
      }
      widths.back() += parts[i].width;
    }
    parts = recut(t, widths);
    while (parts.size() > 1 && break_rules(parts)) {
      const auto narrowest = std::ranges::min_element(widths);
      const bool last = narrowest + 1 == widths.end();
      const auto next = last || (narrowest != widths.begin() && narrowest[-1] < narrowest[1])
                            ? narrowest - 1
                            : narrowest + 1;
      *next += *narrowest;
      widths.erase(narrowest);
      parts = recut(t, widths);
    }
  }

  /// Columns of these widths, each on the device that holds most of them and may.
  std::vector<Part> recut(std::size_t t, const std::vector<int>& widths) const {
    const std::vector<bool> allowed = allowed_devices(table(t).rules, task_);
    std::vector<Part> parts;
    int column = 0;
    for (const int width : widths) {
      std::map<int, int> held;  // By each device.
      for (const RunningSlice& one : holders_.slices(t)) {
        const int columns = std::min(one.slice.first_column + one.slice.dim, column + width) -
                            std::max(one.slice.first_column, column);
        if (columns > 0 && one.device && allowed[*one.device]) {
          held[static_cast<int>(*one.device)] += columns;
        }
      }
      const auto most = std::ranges::max_element(held, {}, &std::pair<const int, int>::second);
      parts.push_back({width, most == held.end() ? kNowhere : most->first});
      column += width;
    }
    return parts;
  }

  /// As many slices of one width as rules allow and are least to be sent.
  void equalize(std::size_t t, std::vector<Part>& parts) const {
    const Table& of = table(t);
    const auto has_one_width = [&](const Part& part) { return part.width == parts.front().width; };
    if (std::ranges::all_of(parts, has_one_width)) {
      if (options_.join_lost) join_all_lost(t, parts);
      return;
    }
    const int units = of.dim / kDimMultiple;
    std::int64_t least_bytes = kAnyBytes;
    for (int count = 1; count <= units; ++count) {
      const int width = of.dim / count;
      if (units % count != 0 || width < least_width(of)) continue;
      if (of.rules.max_slices > 0 && count > of.rules.max_slices) break;
      if (count > 1 && (of.rules.no_split || !of.rules.allow(ShardingKind::kColumn))) break;
      const std::vector<Part> equal =
          recut(t, std::vector<int>(static_cast<std::size_t>(count), width));
      std::int64_t bytes = 0;
      TableSlice slice = whole(t);
      slice.dim = width;
      for (const Part& part : equal) {
        bytes += holders_.moved_bytes(slice, part.place == kNowhere ? task_.devices : part.place);
        slice.first_column += width;
      }
      if (bytes >= least_bytes) continue;
      least_bytes = bytes;
      parts = equal;
    }
  }

  /// One slice of a table of which nothing is left.
  void join_all_lost(std::size_t t, std::vector<Part>& parts) const {
    if (std::ranges::all_of(parts, [](const Part& part) { return part.place == kNowhere; })) {
      parts = {{table(t).dim, kNowhere}};
    }
  }

  [[nodiscard]] bool is_node(std::size_t t, int first_column, int width) const {
    int node = table(t).dim;
    while (node > width && can_split_columns(node)) node /= 2;
    return node == width && first_column % width == 0;
  }

  void join_lost(std::size_t t, std::vector<Part>& parts) const {
    int column = 0;
    for (std::size_t i = 0; i + 1 < parts.size();) {
      const int width = parts[i].width + parts[i + 1].width;
      const bool lost = parts[i].place == kNowhere && parts[i + 1].place == kNowhere;
      const bool nodes = !options_.halves || !is_node(t, column, parts[i].width) ||
                         (parts[i].width == parts[i + 1].width && is_node(t, column, width));
      if (!lost || !nodes) {
        column += parts[i++].width;
        continue;
      }
      parts[i].width = width;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (options_.halves && i > 0) column -= parts[--i].width;  // It may be the other half of it.
    }
  }

  const RunningHolders& holders_;
  const Task& task_;
  CarryOptions options_;
  RunningBlocks blocks_;
  std::vector<std::int64_t> bytes_of_nodes_;  ///< Of tables on nodes, in the new task.
};

}  // namespace

std::vector<CarriedTable> carried_tables(const RunningHolders& holders,
                                         const CarryOptions& options) {
  return Carrier(holders, options).run();
}

}  // namespace neuroshard
