#include "search/infeasibility/infeasibility.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/message_text.h"
#include "core/base/step_budget.h"
#include "core/tables/devices_text.h"
#include "core/tables/table_label.h"
#include "core/tables/table_rules.h"
#include "search/infeasibility/rule_proofs.h"
#include "search/placement_rules.h"

namespace neuroshard {
namespace {

// All proofs together take some hundred milliseconds at most.
constexpr std::uint64_t kMostProofSteps = std::uint64_t{1} << 26;

/// In units of kDimMultiple columns.
int units(int dim) { return dim / kDimMultiple; }

/// How many slices of columns rules let `table` have.
int most_column_parts(const Table& table) {
  const TableRules& rules = table.rules;
  if (rules.no_split || !rules.allow(ShardingKind::kColumn)) return 1;
  int most = units(table.dim) / std::max(1, units(least_width(table) + kDimMultiple - 1));
  if (rules.max_slices > 0) most = std::min(most, rules.max_slices);
  return std::max(most, 1);
}

/// The widest of so many parts.
int width_of(const Table& table, int parts) {
  return kDimMultiple * ((units(table.dim) + parts - 1) / parts);
}

std::string devices_hold_text(const Task& task, std::int64_t available_bytes) {
  const bool base = std::any_of(task.device_list.begin(), task.device_list.end(),
                                [](const Device& device) { return device.base_bytes > 0; });
  std::string text = devices_text(task) + (base ? " with base loads" : "");
  const std::int64_t reserved = reserved_bytes(task, 0);
  if (reserved > 0) {
    text += ", " +
            (task.device_list.empty() ? format_bytes(reserved) + " of it" : std::string("part")) +
            " reserved";
  }
  if (task.host.bytes > 0) text += ", with host memory";
  if (reserved > 0 || task.host.bytes > 0) text += ",";
  return text + (task.devices == 1 ? " holds " : " hold ") + format_bytes(available_bytes);
}

/// Blames the table of which `bytes_of` says most.
template <typename BytesOf>
void blame_largest(const Task& task, const BytesOf& bytes_of, Infeasibility& why) {
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const std::int64_t bytes = bytes_of(t);
    if (bytes <= why.largest_piece_bytes) continue;
    why.largest_piece_bytes = bytes;
    why.table = static_cast<int>(t);
  }
}

std::int64_t narrowest_bytes(const Table& table) {
  return slice_bytes(table, least_widest_dim(table));
}

Infeasibility no_room_found(const Task& task, const std::string& who, const std::string& remedy) {
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kPacking);
  blame_largest(
      task, [&](std::size_t t) { return task.tables[t].size_bytes(); }, why);
  why.message = who + " found no room for all tables on " + devices_text(task) +
                "; the largest is " + label_of(task, why.table) + " with " +
                format_bytes(why.largest_piece_bytes) + "; " + remedy;
  return why;
}

}  // namespace

int narrowest_columns(const Table& table) { return width_of(table, most_column_parts(table)); }

bool halves_are_all(const Table& table) {
  if (most_column_parts(table) == 1) return true;
  return narrowest_dim(table) == kDimMultiple && table.rules.max_slices == 0 &&
         slice_bytes(table, 2 * kDimMultiple) == 2 * slice_bytes(table, kDimMultiple);
}

Infeasibility infeasibility_of(const Task& task, Infeasibility::Kind kind) {
  return {.kind = kind,
          .message = {},
          .needed_bytes = total_bytes(task),
          .available_bytes = total_room_bytes(task),
          .largest_piece_bytes = 0,
          .table = -1};
}

namespace {

bool is_kept_whole(const Task& task, int table) {
  return std::ranges::any_of(task.groups, [&](const TableGroup& group) {
    return group.keep == Keep::kTogether &&
           std::ranges::find(group.tables, table) != group.tables.end();
  });
}

}  // namespace

// A table that has no slice for any device, even if it is `dim` columns.
Infeasibility slice_too_large(const Task& task, int table_index, int dim) {
  const auto t = static_cast<std::size_t>(table_index);
  const Table& table = task.tables[t];
  const std::int64_t room = largest_rooms_bytes(task)[t];
  const std::string rules = rules_text(table.rules);
  const bool whole = is_kept_whole(task, table_index);
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kPieceTooLarge);
  why.table = table_index;
  why.largest_piece_bytes = slice_bytes(table, dim);
  const std::string even_when = std::string(" even when ") +
                                (dim > narrowest_columns(table) ? "halved" : "split") +
                                " into columns of dim " + std::to_string(dim);
  const char* const or_rules = rules.empty() ? "" : ", or loosen its rules";
  why.message =
      label_of(task, why.table) + (whole ? ", which a group keeps whole," : "") + " needs " +
      format_bytes(why.largest_piece_bytes) + " on one device" + (whole ? "" : even_when + rules) +
      ", but " +
      (task.device_list.empty() && !table.rules.limit_devices()
           ? "a device has "
           : "the largest device for it has room for ") +
      format_bytes(room) +
      (!task.device_list.empty() || room == task.memory_bytes ? "" : " that are not reserved") +
      ": " + format_bytes(why.largest_piece_bytes - room) +
      " are short; use devices with more memory" +
      (whole ? ", or leave it out of the group" : or_rules);
  return why;
}

std::optional<Infeasibility> proof_by_memory(const Task& task) {
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kPieceTooLarge);
  const std::vector<std::int64_t> rooms = largest_rooms_bytes(task);
  const auto too_large = [&](std::size_t t) {
    const std::int64_t bytes = narrowest_bytes(task.tables[t]);
    return bytes > rooms[t] ? bytes : 0;
  };
  blame_largest(task, too_large, why);
  if (why.needed_bytes > why.available_bytes) {
    why.kind = Infeasibility::Kind::kTotalMemory;
    why.message = "the tables need " + format_bytes(why.needed_bytes) + ", but " +
                  devices_hold_text(task, why.available_bytes) + ": " +
                  format_bytes(why.needed_bytes - why.available_bytes) +
                  " are short; use more devices, or more memory of devices or hosts";
    return why;
  }
  if (why.table >= 0) {
    const Table& table = task.tables[static_cast<std::size_t>(why.table)];
    return slice_too_large(task, why.table, least_widest_dim(table));
  }
  return std::nullopt;
}

std::optional<Infeasibility> proof_of_infeasibility(const Task& task, const StopCondition& stop) {
  if (std::optional<Infeasibility> proof = proof_by_memory(task)) return proof;
  StepBudget budget(kMostProofSteps, stop);
  return proof_by_rules(task, budget);
}

Infeasibility packing_failure(const Task& task, bool impossible) {
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kPacking);
  blame_largest(
      task, [&](std::size_t t) { return narrowest_bytes(task.tables[t]); }, why);
  std::string what = "no way was found to pack the pieces even when split finely";
  if (impossible) {
    const bool rules = any_limits_splits(task) || any_limits_devices(task) ||
                       any_limits_kinds(task) || !task.groups.empty();
    what = std::string("their pieces cannot be packed, however finely they are ") +
           (std::ranges::all_of(task.tables, halves_are_all) ? "split" : "halved") +
           (rules ? " as the rules of tables allow" : "");
  }
  why.message = "the tables need " + format_bytes(why.needed_bytes) + " and " +
                devices_hold_text(task, why.available_bytes) + ", but " + what +
                "; the largest is " + format_bytes(why.largest_piece_bytes) + ", of " +
                label_of(task, why.table) +
                "; use more devices, or more memory of devices or hosts";
  if (task.host.bytes > 0 && task.host.policy == HostPolicy::kLru) {
    why.message += ", or keep_in_hbm for some tables: hosts have copies of all rows of others";
  }
  return why;
}

Infeasibility failure_without_memory_splits(const Task& task) {
  return no_room_found(task, "the search without memory splits", "allow memory splits");
}

Infeasibility nothing_in_time(const Task& task) {
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kNoTime);
  why.message = "there was no time to find a plan; allow more of it";
  return why;
}

Infeasibility baseline_failure(const Task& task, Algorithm algorithm) {
  const bool splits = algorithm == Algorithm::kUniform || algorithm == Algorithm::kPublished;
  const char* why = splits ? "" : " does not split tables and";
  return no_room_found(task, std::string(name_of(algorithm)) + why, "use the algorithm neuroshard");
}

}  // namespace neuroshard
