#pragma once

#include <string>
#include <string_view>

namespace neuroshard::tools {

/// Turns a HugeCTR model (JSON: solver, optimizer, layers) into the text of a task file. It has a
/// table for each slot of each sparse embedding, with devices, batch and optimizer as far as the
/// model states them. Assumptions are in the task's notes. `where` opens every message. Throws
/// Error (kInvalidInput), naming place and remedy, on text that is no such model or does not say
/// how large its slots are.
[[nodiscard]] std::string task_of_hugectr_model(std::string_view json, const std::string& where);

}  // namespace neuroshard::tools
