#pragma once

#include <cstddef>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// "group 2 ('user')" of the third `what`, for messages; without the name if it has none.
[[nodiscard]] inline std::string label_of(const char* what, std::size_t index,
                                          const std::string& name) {
  std::string label = what + (" " + std::to_string(index));
  if (!name.empty()) label.append(" ('").append(name).append("')");
  return label;
}

/// Label of table `index` of a task.
[[nodiscard]] inline std::string label_of(const Table& table, std::size_t index) {
  return label_of("table", index, table.name);
}

/// Label of a table of `task`.
[[nodiscard]] inline std::string label_of(const Task& task, int table) {
  const auto index = static_cast<std::size_t>(table);
  return label_of(task.tables[index], index);
}

}  // namespace neuroshard
