#pragma once

#include <cstddef>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// "table 3 ('user')" of table `index` of a task, for messages; without the name if it has none.
[[nodiscard]] inline std::string label_of(const Table& table, std::size_t index) {
  std::string label = "table " + std::to_string(index);
  if (!table.name.empty()) label.append(" ('").append(table.name).append("')");
  return label;
}

/// Label of a table of `task`.
[[nodiscard]] inline std::string label_of(const Task& task, int table) {
  const auto index = static_cast<std::size_t>(table);
  return label_of(task.tables[index], index);
}

}  // namespace neuroshard
