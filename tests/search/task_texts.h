#pragma once

#include <string>

#include "message_of.h"
#include "neuroshard/task_file.h"

namespace neuroshard::testing {

/// A task file whose one table has these fields.
inline std::string task_with_table(const std::string& table) {
  return R"({"format": "neuroshard.task", "version": 1, "tables": [)" + table + "]}";
}

/// A task file with one good table and these fields in front of it.
inline std::string task_text_with(const std::string& fields) {
  return R"({"format": "neuroshard.task", "version": 1, )" + fields +
         R"("tables": [{"row": 100, "dim": 16, "pooling_factor": 1.5}]})";
}

/// The message of reading it from "a.json".
inline std::string task_error(const std::string& json) {
  return message_of([&] { (void)parse_task(json, "a.json"); });
}

}  // namespace neuroshard::testing
