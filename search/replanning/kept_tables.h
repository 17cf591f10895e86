#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/error.h"
#include "neuroshard/replan.h"
#include "search/parts/partial_task.h"

namespace neuroshard {

/// [tables of the new task]: how each is to be sharded, kReplicate, kRow, or kColumn; nothing: as
/// it runs, and in slices of columns if it is new.
using WantedKinds = std::vector<std::optional<ShardingKind>>;

/// A task with a running plan, apart from the tables that are to be replicated or cut by rows, on
/// all devices or on those of nodes. Tables that the plan cuts to columns that are no halves are as
/// many tables here: each of its slices is one, which re-planning can move and halve. Where rules
/// of the new task find them too narrow or too many, neighbours are joined: those on one device,
/// then the narrowest ones.
struct KeptTables {
  PartialTask rest;     ///< The others, in the memory that is left.
  RunningPlan running;  ///< Of them.
  /// Of each table of `rest`: the one of `running` that it is; nothing: it is new.
  std::vector<std::optional<std::size_t>> running_tables;
  Plan fixed;  ///< Replicas and row blocks of the new task.
  std::vector<TableMove> moves;
  std::int64_t moved_bytes = 0;  ///< All of `moves`; they must be moved.
  /// These, and what no device holds of the others, by the slices that they run in.
  std::int64_t missing_bytes = 0;
  /// Tables of `rest` that run in blocks of rows, ascending.
  std::vector<std::uint32_t> out_of_blocks;
  /// What devices hold of those: in `rest` they are new ones.
  std::int64_t taken_for_new_bytes = 0;
  std::int64_t device_bytes = 0;  ///< What `fixed` takes of the device where it takes most.
  bool has_room = true;           ///< False: no memory is left; there is no `rest`.
};

/// `running` is valid. Tables that run so stay so where rules let them: replicas go to devices that
/// do not hold them, row-wise tables are cut to equal blocks on all devices, those on nodes stay on
/// theirs or, if a device of it is lost, go to another node, and others in blocks of rows stay
/// where they are if no device of theirs is lost. `wanted`, which rules allow, comes first. Throws
/// Error if lost devices are none.
[[nodiscard]] KeptTables keep_tables(const Backend& backend, const Task& task,
                                     const RunningPlan& running, const WantedKinds& wanted);

/// False if rules let a table that is in `rest` be in no slices of columns, if what runs in blocks
/// of rows cannot stay, or if there is no room.
[[nodiscard]] bool can_be_laid_out(const Task& task, const KeptTables& kept);

/// What `of_rest` is of the whole task.
[[nodiscard]] ReplanResult with_kept_tables(const Backend& backend, const Task& task,
                                            const KeptTables& kept, ReplanResult of_rest);

}  // namespace neuroshard
