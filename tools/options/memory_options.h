#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "neuroshard/task.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// Settings of a task that decide memory, in place of what its file says: of all tables, and of
/// each device.
struct MemoryOptions {
  std::optional<std::string> weight_type;
  std::optional<std::string> optimizer;
  std::optional<std::int64_t> batch_size;
  std::optional<double> reserved_gb;
  std::optional<double> reserved_share;

  /// Throws Error naming the option if a number is one that no task may have.
  void require_ranges() const;
  /// Throws Error naming the option; also if it leaves a device no memory for tables.
  void apply(Task& task) const;
};

void add_memory_options(CLI::App& command, MemoryOptions& options);

}  // namespace neuroshard::tools
