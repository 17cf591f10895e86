#include "search/infeasibility.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/devices_text.h"
#include "core/message_text.h"
#include "core/sharding_kinds.h"
#include "core/table_groups.h"
#include "core/table_label.h"
#include "core/table_rules.h"
#include "search/parts/column_parts.h"
#include "search/parts/even_blocks.h"
#include "search/parts/required_blocks.h"
#include "search/placement_rules.h"

namespace neuroshard {
namespace {

Infeasibility totals(const Task& task, Infeasibility::Kind kind) {
  Infeasibility why{.kind = kind,
                    .message = {},
                    .needed_bytes = total_bytes(task),
                    .available_bytes = total_room_bytes(task),
                    .largest_piece_bytes = 0,
                    .table = -1};
  return why;
}

std::string devices_hold_text(const Task& task, std::int64_t available_bytes) {
  const bool base = std::any_of(task.device_list.begin(), task.device_list.end(),
                                [](const Device& device) { return device.base_bytes > 0; });
  std::string text = devices_text(task) + (base ? " with base loads" : "");
  if (const std::int64_t reserved = reserved_bytes(task, 0); reserved > 0) {
    text += ", " +
            (task.device_list.empty() ? format_bytes(reserved) + " of it" : std::string("part")) +
            " reserved,";
  }
  return text + (task.devices == 1 ? " holds " : " hold ") + format_bytes(available_bytes);
}

// Blames the largest table.
Infeasibility no_room_found(const Task& task, const std::string& who, const std::string& remedy) {
  Infeasibility why = totals(task, Infeasibility::Kind::kPacking);
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    if (task.tables[t].size_bytes() > why.largest_piece_bytes) {
      why.largest_piece_bytes = task.tables[t].size_bytes();
      why.table = static_cast<int>(t);
    }
  }
  why.message = who + " found no room for all tables on " + devices_text(task) +
                "; the largest is " + label_of(task, why.table) + " with " +
                format_bytes(why.largest_piece_bytes) + "; " + remedy;
  return why;
}

Infeasibility no_packing(const Task& task, const LargestSlice& largest, const std::string& what) {
  Infeasibility why = totals(task, Infeasibility::Kind::kPacking);
  why.largest_piece_bytes = largest.size_bytes;
  why.table = largest.table;
  why.message = "the tables need " + format_bytes(why.needed_bytes) + " and " +
                devices_hold_text(task, why.available_bytes) + ", but " + what +
                "; the largest is " + format_bytes(why.largest_piece_bytes) + ", of " +
                label_of(task, why.table) + "; use more devices or more memory per device";
  return why;
}

/// Tables that may go to the same devices.
struct Guests {
  std::int64_t bytes = 0;
  std::size_t tables = 0;
  int largest = -1;  ///< Table.

  void add(const Guests& more, const Task& task) {
    bytes += more.bytes;
    tables += more.tables;
    const auto size = [&](int table) {
      return table < 0 ? 0 : task.tables[static_cast<std::size_t>(table)].size_bytes();
    };
    if (size(more.largest) > size(largest)) largest = more.largest;
  }
};

bool is_subset(const std::vector<bool>& some, const std::vector<bool>& of) {
  for (std::size_t d = 0; d < some.size(); ++d) {
    if (some[d] && !of[d]) return false;
  }
  return true;
}

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
  if (block_groups(task).size() == 1) {
    return counted(static_cast<std::uint64_t>(task.devices), "device") +
           " are not several whole nodes of at least 2, of which devices_per_node says " +
           std::to_string(node) + "; give another number";
  }
  return "the cost models know no communication of " + std::to_string(task.devices / node) +
         " devices, as many as there are nodes; use other models";
}

// A table that has no slice for any device, even if it is `dim` columns.
Infeasibility slice_too_large(const Task& task, int table_index, int dim) {
  const auto t = static_cast<std::size_t>(table_index);
  const Table& table = task.tables[t];
  const std::int64_t room = largest_rooms_bytes(task)[t];
  const std::string rules = rules_text(table.rules);
  Infeasibility why = totals(task, Infeasibility::Kind::kPieceTooLarge);
  why.table = table_index;
  why.largest_piece_bytes = slice_bytes(table, dim);
  why.message =
      label_of(task, why.table) + " needs " + format_bytes(why.largest_piece_bytes) +
      " on one device even when " + (dim > narrowest_columns(table) ? "halved" : "split") +
      " into columns of dim " + std::to_string(dim) + rules + ", but " +
      (task.device_list.empty() && !table.rules.limit_devices()
           ? "a device has "
           : "the largest device for it has room for ") +
      format_bytes(room) +
      (!task.device_list.empty() || room == task.memory_bytes ? "" : " that are not reserved") +
      ": " + format_bytes(why.largest_piece_bytes - room) +
      " are short; use devices with more memory" + (rules.empty() ? "" : ", or loosen its rules");
  return why;
}

/// Whether no device has room for what it would have of `table`, however its columns are cut, nor
/// all of them for the whole table. Never of tables that may be cut by rows.
bool fits_nowhere(const Task& task, std::size_t t, const ShardingMeans& means,
                  std::int64_t largest_room, std::int64_t least_room) {
  const Table& table = task.tables[t];
  if (may_be_in_columns(task, table) &&
      slice_bytes(table, narrowest_columns(table)) <= largest_room) {
    return false;
  }
  if (means.row_blocks && table.rows > 1 && task.devices > 1 && may_be_in_blocks(task, table)) {
    return false;
  }
  return !means.replicas || task.devices == 1 ||
         !may_be_sharded(task, table, ShardingKind::kReplicate) ||
         replica_memory(task, static_cast<int>(t)).total_bytes() > least_room;
}

/// Whether it is proven that tables that are not among `taken`, ascending, have no room beside
/// these, which take so much of each device.
bool others_have_no_room(const Task& task, std::span<const std::uint32_t> taken,
                         std::int64_t taken_bytes) {
  const ShardingMeans any{.row_blocks = true, .replicas = true};
  if (!has_equal_devices(task)) return false;
  const std::int64_t room = largest_room_bytes(task) - taken_bytes;
  std::int64_t others_bytes = 0;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (std::ranges::binary_search(taken, t)) continue;
    if (fits_nowhere(task, t, any, room, room)) return true;
    others_bytes += task.tables[t].size_bytes();
  }
  return others_bytes > room * task.devices;
}

/// Whether halves of `table` can take the place of slices of any widths that rules allow: it is not
/// cut, or to single units of columns, which then take as much as wider slices.
bool halves_are_all(const Table& table) {
  if (most_column_parts(table) == 1) return true;
  return narrowest_dim(table) == kDimMultiple && table.rules.max_slices == 0 &&
         slice_bytes(table, 2 * kDimMultiple) == 2 * slice_bytes(table, kDimMultiple);
}

// Tables that must be on one device need one that has room for all of them.
std::optional<Infeasibility> proof_by_bundles(const Task& task) {
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  for (const TableBundle& bundle : table_bundles(task)) {
    Guests all;
    for (const std::uint32_t t : bundle) {
      all.add({.bytes = task.tables[t].size_bytes(), .tables = 1, .largest = static_cast<int>(t)},
              task);
    }
    const std::vector<bool> allowed = allowed_devices(task, bundle);
    std::int64_t room = 0;
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      if (allowed[d]) room = std::max(room, rooms[d]);
    }
    if (all.bytes <= room) continue;
    Infeasibility why = totals(task, Infeasibility::Kind::kRules);
    why.table = all.largest;
    why.largest_piece_bytes = all.bytes;
    why.message = "groups keep " + counted(all.tables, "table") +
                  " together, the largest of which is " + label_of(task, all.largest) +
                  ", and they need " + format_bytes(all.bytes) +
                  " on one device, but the largest device for them has room for " +
                  format_bytes(room) + ": " + format_bytes(all.bytes - room) +
                  " are short; take tables out of the group, or use devices with more memory";
    return why;
  }
  return std::nullopt;
}

// Tables that are kept apart need as many devices as they are.
std::optional<Infeasibility> proof_by_apart_tables(const Task& task) {
  for (std::size_t g = 0; g < task.groups.size(); ++g) {
    const TableGroup& group = task.groups[g];
    if (group.keep != Keep::kApart) continue;
    std::vector<bool> any(static_cast<std::size_t>(task.devices), false);
    for (const int table : group.tables) {
      const std::vector<bool> allowed =
          allowed_devices(task.tables[static_cast<std::size_t>(table)].rules, task);
      for (std::size_t d = 0; d < any.size(); ++d) any[d] = any[d] || allowed[d];
    }
    const auto devices = static_cast<std::size_t>(std::ranges::count(any, true));
    if (group.tables.size() <= devices) continue;
    Infeasibility why = totals(task, Infeasibility::Kind::kRules);
    why.table = group.tables.front();
    why.largest_piece_bytes = task.tables[static_cast<std::size_t>(why.table)].size_bytes();
    why.message = group_label(task, g) + " keeps " + counted(group.tables.size(), "table") +
                  " apart, but there " + (devices == 1 ? "is " : "are ") +
                  counted(devices, "device") +
                  " for them; use more devices, or take tables out of the group";
    return why;
  }
  return std::nullopt;
}

// Tables that may only go to some devices: these must hold all of them.
std::optional<Infeasibility> proof_by_device_rules(const Task& task) {
  std::map<std::vector<bool>, Guests> guests;
  std::vector<std::vector<bool>> of_bundles(task.tables.size());
  for (const TableBundle& bundle : table_bundles(task)) {
    for (const std::uint32_t t : bundle) of_bundles[t] = allowed_devices(task, bundle);
  }
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const std::vector<bool> allowed =
        of_bundles[t].empty() ? allowed_devices(table.rules, task) : of_bundles[t];
    guests[allowed].add({.bytes = table.size_bytes(), .tables = 1, .largest = static_cast<int>(t)},
                        task);
  }
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  for (const auto& entry : guests) {
    const std::vector<bool>& devices = entry.first;
    std::int64_t room = 0;
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      if (devices[d] && __builtin_add_overflow(room, rooms[d], &room)) room = INT64_MAX;
    }
    Guests all;
    for (const auto& [fewer, of_fewer] : guests) {
      if (is_subset(fewer, devices)) all.add(of_fewer, task);
    }
    if (all.bytes <= room) continue;
    std::string names;
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      if (devices[d]) names += (names.empty() ? " " : ", ") + std::to_string(d);
    }
    Infeasibility why = totals(task, Infeasibility::Kind::kRules);
    why.table = all.largest;
    why.largest_piece_bytes = task.tables[static_cast<std::size_t>(all.largest)].size_bytes();
    why.message = counted(all.tables, "table") + ", the largest of which is " +
                  label_of(task, all.largest) + ", may by their rules only go to the devices" +
                  names + " and need " + format_bytes(all.bytes) + ", but these hold " +
                  format_bytes(room) + ": " + format_bytes(all.bytes - room) +
                  " are short; allow more devices, or give these more memory";
    return why;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Infeasibility> proof_of_infeasibility(const Task& task) {
  Infeasibility why = totals(task, Infeasibility::Kind::kPieceTooLarge);
  const std::vector<std::int64_t> rooms = largest_rooms_bytes(task);
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const std::int64_t piece_bytes = slice_bytes(table, narrowest_dim(table));
    if (piece_bytes > rooms[t] && piece_bytes > why.largest_piece_bytes) {
      why.largest_piece_bytes = piece_bytes;
      why.table = static_cast<int>(t);
    }
  }
  if (why.needed_bytes > why.available_bytes) {
    why.kind = Infeasibility::Kind::kTotalMemory;
    why.message = "the tables need " + format_bytes(why.needed_bytes) + ", but " +
                  devices_hold_text(task, why.available_bytes) + ": " +
                  format_bytes(why.needed_bytes - why.available_bytes) +
                  " are short; use more devices or more memory per device";
    return why;
  }
  if (why.table >= 0) {
    const Table& table = task.tables[static_cast<std::size_t>(why.table)];
    return slice_too_large(task, why.table, narrowest_dim(table));
  }
  if (!task.groups.empty()) {
    if (auto proof = proof_by_bundles(task)) return proof;
    if (auto proof = proof_by_apart_tables(task)) return proof;
  }
  return any_limits_devices(task) ? proof_by_device_rules(task) : std::nullopt;
}

std::optional<Infeasibility> kinds_out_of_reach(const Task& task, const ShardingMeans& means) {
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    if (may_be_in_columns(task, table)) continue;
    const bool replicated = may_be_sharded(task, table, ShardingKind::kReplicate);
    if (means.replicas && replicated) continue;
    const bool over_all = may_be_cut(task, table, task.devices);
    if (means.row_blocks && may_be_in_blocks(task, table) && (over_all || means.nodes)) continue;
    Infeasibility why = totals(task, Infeasibility::Kind::kRules);
    why.table = static_cast<int>(t);
    why.largest_piece_bytes = table.size_bytes();
    why.message = label_of(table, t) + " may by its rule kinds only be sharded as " +
                  listed_kinds(table.rules.kinds) + ", but " + reason_of(task, table, means) +
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
          (means.row_blocks && may_be_in_blocks(with_rules, table)) ||
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

Infeasibility no_room_beside(const Task& task, std::span<const std::uint32_t> tables,
                             std::string_view how, std::optional<std::int64_t> taken_bytes) {
  Guests guests;
  for (const std::uint32_t t : tables) {
    guests.add({.bytes = task.tables[t].size_bytes(), .tables = 1, .largest = static_cast<int>(t)},
               task);
  }
  Infeasibility why = totals(task, Infeasibility::Kind::kRules);
  why.table = guests.largest;
  why.largest_piece_bytes = task.tables[static_cast<std::size_t>(guests.largest)].size_bytes();
  const std::string largest = label_of(task, guests.largest);
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

Infeasibility packing_failure(const Task& task, const LargestSlice& largest) {
  return no_packing(task, largest, "no way was found to pack the pieces even when split finely");
}

Infeasibility packing_failure(const Task& task, bool impossible) {
  LargestSlice largest;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const std::int64_t size_bytes = slice_bytes(table, narrowest_dim(table));
    if (size_bytes > largest.size_bytes) largest = {static_cast<int>(t), size_bytes};
  }
  if (!impossible) return packing_failure(task, largest);
  const bool rules = any_limits_splits(task) || any_limits_devices(task) ||
                     any_limits_kinds(task) || !task.groups.empty();
  return no_packing(task, largest,
                    std::string("their pieces cannot be packed, however finely they are ") +
                        (std::ranges::all_of(task.tables, halves_are_all) ? "split" : "halved") +
                        (rules ? " as the rules of tables allow" : ""));
}

Infeasibility failure_without_memory_splits(const Task& task) {
  return no_room_found(task, "the search without memory splits", "allow memory splits");
}

Infeasibility nothing_in_time(const Task& task) {
  Infeasibility why = totals(task, Infeasibility::Kind::kNoTime);
  why.message = "there was no time to find a plan; allow more of it";
  return why;
}

Infeasibility baseline_failure(const Task& task, Algorithm algorithm) {
  if (auto proof = proof_of_infeasibility(task)) return *std::move(proof);
  const char* why = algorithm == Algorithm::kUniform ? "" : " does not split tables and";
  return no_room_found(task, std::string(name_of(algorithm)) + why, "use the algorithm neuroshard");
}

}  // namespace neuroshard
