#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/task_file.h"

namespace neuroshard::tools {

struct ConvertedPlan {
  std::string line;                ///< As `plan --format jsonl` writes it, without costs.
  std::vector<std::string> notes;  ///< Facts that a plan of ours cannot state.
};

/// TorchRec's ShardingPlan as JSON: what `json.dumps(dataclasses.asdict(plan), default=str)` makes
/// of it, {"plan": {PATH: {TABLE: {sharding_type, sharding_spec, ...}}}}, or what is in "plan".
/// Tables are those of `task` by name: PATH.TABLE, or TABLE alone if no table is called that. On
/// as many devices as the task states, or else as there are ranks. `where` opens every message.
/// Throws Error (kInvalidInput), naming table, field and remedy, on what is no plan of this task.
[[nodiscard]] ConvertedPlan plan_of_torchrec(std::string_view json, const std::string& where,
                                             const TaskFile& task);

}  // namespace neuroshard::tools
