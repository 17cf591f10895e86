#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/task.h"

namespace neuroshard {

struct TaskDrawOptions {
  int devices = 4;
  int max_dim = 128;
  /// Tables of a task: uniform in [min, max) times devices.
  double min_tables_per_device = 2.5;
  double max_tables_per_device = 15.0;
  /// Memory for all tables together. The published 4-device tasks allow 15 of 4 x 4 GiB.
  std::int64_t memory_bytes = std::int64_t{15} << 30;
};

/// Draws one sharding task: a number of tables, then tables (with replacement) and dims (of
/// dim_levels) uniformly. A task that does not fit in memory is drawn anew, number of tables
/// included (the published program keeps the number and may search for ever). Returns the line
/// "id,id,... dim,dim,...". Throws Error if they practically never fit.
[[nodiscard]] std::string draw_task_line(std::span<const Table> tables,
                                         const TaskDrawOptions& options, Random& random);

}  // namespace neuroshard
