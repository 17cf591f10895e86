#include "search/infeasibility.h"

#include "core/message_text.h"
#include "neuroshard/plan.h"

namespace neuroshard {
namespace {

std::string label_of(const Task& task, int table) {
  const std::string& name = task.tables[static_cast<std::size_t>(table)].name;
  return "table " + std::to_string(table) + (name.empty() ? "" : " ('" + name + "')");
}

int smallest_dim(int dim) {
  while (can_split_columns(dim)) dim /= 2;
  return dim;
}

Infeasibility totals(const Task& task, Infeasibility::Kind kind) {
  Infeasibility why{.kind = kind,
                    .message = {},
                    .needed_bytes = total_bytes(task),
                    .available_bytes = 0,
                    .largest_piece_bytes = 0,
                    .table = -1};
  // Saturates: 1,024 devices of 2^63 bytes.
  if (__builtin_mul_overflow(usable_bytes(task), static_cast<std::int64_t>(task.devices),
                             &why.available_bytes)) {
    why.available_bytes = INT64_MAX;
  }
  return why;
}

std::string devices_text(const Task& task) {
  const std::int64_t reserved = reserved_bytes(task);
  return counted(static_cast<std::uint64_t>(task.devices), "device") + " of " +
         format_bytes(task.memory_bytes) +
         (reserved == 0 ? "" : ", " + format_bytes(reserved) + " of it reserved,");
}

std::string devices_hold_text(const Task& task, std::int64_t available_bytes) {
  return devices_text(task) + (task.devices == 1 ? " holds " : " hold ") +
         format_bytes(available_bytes);
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

}  // namespace

std::optional<Infeasibility> proof_of_infeasibility(const Task& task) {
  Infeasibility why = totals(task, Infeasibility::Kind::kPieceTooLarge);
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const std::int64_t piece_bytes = slice_bytes(table, smallest_dim(table.dim));
    if (piece_bytes > usable_bytes(task) && piece_bytes > why.largest_piece_bytes) {
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
    why.message = label_of(task, why.table) + " needs " + format_bytes(why.largest_piece_bytes) +
                  " on one device even when split into columns of dim " +
                  std::to_string(smallest_dim(table.dim)) + ", but a device has " +
                  format_bytes(usable_bytes(task)) +
                  (reserved_bytes(task) == 0 ? "" : " that are not reserved") + ": " +
                  format_bytes(why.largest_piece_bytes - usable_bytes(task)) +
                  " are short; use devices with more memory";
    return why;
  }
  return std::nullopt;
}

Infeasibility packing_failure(const Task& task, const LargestSlice& largest) {
  return no_packing(task, largest, "no way was found to pack the pieces even when split finely");
}

Infeasibility packing_failure(const Task& task, bool impossible) {
  LargestSlice largest;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const std::int64_t size_bytes = slice_bytes(table, smallest_dim(table.dim));
    if (size_bytes > largest.size_bytes) largest = {static_cast<int>(t), size_bytes};
  }
  if (!impossible) return packing_failure(task, largest);
  return no_packing(task, largest, "their pieces cannot be packed, however finely they are split");
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
