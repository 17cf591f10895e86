#include "search/infeasibility/sharding_means.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/plans/equal_blocks.h"
#include "core/plans/replicas.h"
#include "core/tables/devices_text.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_label.h"
#include "core/tables/table_rules.h"
#include "search/infeasibility/infeasibility.h"
#include "search/placement_rules.h"
#include "search/state/ways.h"

namespace neuroshard {
namespace {

// Why `table`, which may not be in columns, cannot be sharded as its rules want it, and a remedy.
std::string reason_of(const Task& task, const Table& table, const ShardingMeans& means) {
  if (means.algorithm != Algorithm::kNeuroshard) {
    return "the algorithm " + std::string(name_of(means.algorithm)) +
           " cuts no rows and replicates no tables; use the algorithm neuroshard with cuts any";
  }
  if (!means.row_blocks) {
    return "the cuts that are allowed are columns, without row blocks and replicas; allow cuts any";
  }
  if (may_be_sharded(task, table, ShardingKind::kReplicate)) {
    return "the cost models do not price replicas; use models that do, such as the built-in "
           "weights";
  }
  const int node = task.devices_per_node;
  if (may_be_sharded(task, table, ShardingKind::kPartRow)) {
    return means.parts
               ? "parts of 2, 4 or 8 devices have to divide a node, and there have to be two; "
                 "devices_per_node says " +
                     std::to_string(node) + ", of " +
                     counted(static_cast<std::uint64_t>(task.devices), "device") +
                     "; give another number"
               : "equal widths, and cost models with a price of table_row, know only whole nodes; "
                 "allow other kinds";
  }
  if (devices_of_slice(task, Way::kNode) == 0) {
    return counted(static_cast<std::uint64_t>(task.devices), "device") +
           " are not several whole nodes of at least 2, of which devices_per_node says " +
           std::to_string(node) + "; give another number";
  }
  return "the cost models know no communication of " + std::to_string(task.devices / node) +
         " devices, as many as there are nodes; use other models";
}

/// Whether no device has room for what it would have of `table`, however its columns are cut, nor
/// all of them for the whole table. Never of tables that may be cut by rows, unless even as many
/// slices as rules allow are too large.
bool fits_nowhere(const Task& task, std::size_t t, const ShardingMeans& means,
                  std::int64_t largest_room, std::int64_t least_room) {
  const Table& table = task.tables[t];
  if (may_be_in_columns(task, table) &&
      slice_bytes(table, narrowest_columns(table)) <= largest_room) {
    return false;
  }
  const int most_slices = table.rules.max_slices;
  const bool too_few_slices = most_slices > 0 && table.size_bytes() / most_slices > largest_room;
  if (means.row_blocks && table.rows > 1 && task.devices > 1 && !too_few_slices &&
      may_be_in_blocks(task, table, means.parts)) {
    return false;
  }
  return !means.replicas || task.devices == 1 ||
         !may_be_sharded(task, table, ShardingKind::kReplicate) ||
         replica_memory(task, static_cast<int>(t)).total_bytes() > least_room;
}

constexpr ShardingMeans kAllMeans{.row_blocks = true, .parts = true, .replicas = true};

/// Why the tables that are not among `taken` would have no plan if they were alone, as far as that
/// is proven.
std::optional<Infeasibility> others_alone(const Task& task, std::span<const std::uint32_t> taken,
                                          const StopCondition& stop) {
  Task others = task;
  for (const std::uint32_t t : taken) {
    others.tables[t].rows = 0;  // Takes nothing.
    others.tables[t].rules = {};
  }
  std::optional<Infeasibility> why = proof_of_infeasibility(others, stop);
  if (!why) return std::nullopt;
  why = as_far_as_proven(others, kAllMeans, *std::move(why));
  if (why->kind == Infeasibility::Kind::kPacking) return std::nullopt;
  return why;
}

/// Whether it is proven that tables that are not among `taken`, ascending, have no room beside
/// these, which take so much of each device.
bool others_have_no_room(const Task& task, std::span<const std::uint32_t> taken,
                         std::int64_t taken_bytes) {
  if (!has_equal_devices(task)) return false;
  const std::int64_t room = largest_room_bytes(task) - taken_bytes;
  std::int64_t others_bytes = 0;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (std::ranges::binary_search(taken, t)) continue;
    if (fits_nowhere(task, t, kAllMeans, room, room)) return true;
    others_bytes += task.tables[t].size_bytes();
  }
  return others_bytes > room * task.devices;
}

/// Says that `tables`, at least one, whose rules want them to be `how` ("replicated"), find no room
/// on the devices; or if they take `taken_bytes` of each device, that the others find none, and if
/// it is proven before `stop` that these have none even alone, why.
Infeasibility no_room_beside(const Task& task, std::span<const std::uint32_t> tables,
                             std::string_view how, std::optional<std::int64_t> taken_bytes,
                             const StopCondition& stop) {
  if (taken_bytes && tables.size() < task.tables.size()) {
    if (std::optional<Infeasibility> why = others_alone(task, tables, stop)) return *std::move(why);
  }
  const std::uint32_t largest_table =
      std::ranges::max(tables, {}, [&](std::uint32_t t) { return task.tables[t].size_bytes(); });
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kRules);
  why.table = static_cast<int>(largest_table);
  why.largest_piece_bytes = task.tables[largest_table].size_bytes();
  const std::string largest = label_of(task, why.table);
  why.message = tables.size() == 1
                    ? largest + " must by its rule kinds be "
                    : counted(tables.size(), "table") + ", the largest of which is " + largest +
                          ", must by their rules kinds be ";
  why.message += how;
  if (!taken_bytes) {
    why.message += ", but there is no room for that on ";
  } else if (tables.size() == task.tables.size()) {
    why.message += ", which takes " + format_bytes(*taken_bytes) + " of each device, of ";
  } else {
    why.message += ", which takes " + format_bytes(*taken_bytes) + " of each device, and " +
                   (others_have_no_room(task, tables, *taken_bytes)
                        ? "what is left has no room for the others on "
                        : "no room was found for the others in what is left of ");
  }
  why.message += devices_text(task) + "; use more memory per device, or loosen the rules";
  return why;
}

/// Bytes that row blocks of a table take of a device, on the group of devices where they are least.
std::int64_t least_bytes_of_blocks(const Task& task, std::uint32_t t) {
  const Table& table = task.tables[t];
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const WayForm& form : way_forms()) {
    const int group = form.group(task);
    if (group < 2 || form.most_slices(task, table, group) == 0) continue;
    std::int64_t most = 0;
    for_each_block(
        {static_cast<int>(t), 0, table.dim, 0, table.rows}, 0, group,
        [&](const TableSlice& block, int) { most = std::max(most, slice_bytes(task, block)); });
    least = std::min(least, most);
  }
  return least;
}

}  // namespace

std::optional<Infeasibility> kinds_out_of_reach(const Task& task, const ShardingMeans& means) {
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    if (may_be_in_columns(task, table)) continue;
    const bool replicated = may_be_sharded(task, table, ShardingKind::kReplicate);
    if (means.replicas && replicated) continue;
    const bool over_all = most_slices_of(task, table, Way::kAll) > 0;
    if (means.row_blocks && may_be_in_blocks(task, table, means.parts) &&
        (over_all || means.nodes)) {
      continue;
    }
    Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kRules);
    why.table = static_cast<int>(t);
    why.largest_piece_bytes = table.size_bytes();
    why.message = label_of(table, t) + " may by its rule kinds only be sharded as " +
                  listed_names(table.rules.kinds) + ", but " + reason_of(task, table, means) +
                  ", or loosen the rule";
    return why;
  }
  return std::nullopt;
}

Infeasibility as_far_as_proven(const Task& task, const ShardingMeans& means, Infeasibility why) {
  const bool packing = why.kind == Infeasibility::Kind::kPacking;
  if (!packing && why.kind != Infeasibility::Kind::kPieceTooLarge) return why;
  const Task with_rules = with_rules_of_groups(task);
  const auto& tables = with_rules.tables;
  if (packing) {
    const bool proven = std::ranges::all_of(tables, [&](const Table& table) {
      const bool otherwise =
          (means.row_blocks && may_be_in_blocks(with_rules, table, means.parts)) ||
          (means.replicas && may_be_sharded(with_rules, table, ShardingKind::kReplicate));
      return halves_are_all(table) && (task.devices == 1 || !otherwise);
    });
    return proven ? std::move(why) : packing_failure(task, false);
  }
  const std::vector<std::int64_t> largest = largest_rooms_bytes(task);
  const std::int64_t least = std::ranges::min(rooms_bytes(task));
  int worst = -1;
  std::int64_t most_bytes = 0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (!fits_nowhere(with_rules, t, means, largest[t], least)) continue;
    const std::int64_t bytes = slice_bytes(tables[t], narrowest_columns(tables[t]));
    if (bytes <= std::max(most_bytes, largest[t])) continue;
    most_bytes = bytes;
    worst = static_cast<int>(t);
  }
  if (worst < 0) return packing_failure(task, false);
  return slice_too_large(task, worst, narrowest_columns(tables[static_cast<std::size_t>(worst)]));
}

Infeasibility no_plan_found(const Task& task, bool impossible, const StopCondition& stop) {
  std::vector<std::uint32_t> replicas;
  std::vector<std::uint32_t> in_blocks;
  std::int64_t taken_bytes = 0;  // On each device.
  const TouchedGradients touched(task);
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    if (may_be_in_columns(task, table)) continue;
    if (may_be_in_blocks(task, table)) {
      in_blocks.push_back(t);
      taken_bytes += least_bytes_of_blocks(task, t);
    } else if (may_be_sharded(task, table, ShardingKind::kReplicate)) {
      replicas.push_back(t);
      taken_bytes += replica_memory(task, static_cast<int>(t), touched).total_bytes();
    }
  }
  const bool fits = taken_bytes <= std::ranges::min(rooms_bytes(task));
  const std::optional<std::int64_t> taken = fits ? std::optional(taken_bytes) : std::nullopt;
  if (!in_blocks.empty()) return no_room_beside(task, in_blocks, "cut by rows", taken, stop);
  if (!replicas.empty()) return no_room_beside(task, replicas, "replicated", taken, stop);
  if (std::optional<Infeasibility> proof = proof_by_memory(task)) return *std::move(proof);
  return packing_failure(task, impossible);
}

}  // namespace neuroshard
