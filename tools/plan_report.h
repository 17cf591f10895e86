#pragma once

#include <string>
#include <vector>

#include "neuroshard/plan_file.h"
#include "tools/text.h"

namespace neuroshard::tools {

/// The page that `--format table` prints for one task: per device a bar of its compute, forward and
/// backward milliseconds, its memory and its number of table slices; then cost, imbalance, search.
[[nodiscard]] std::string plan_page(const PlanDocument& document, const TextStyle& style);

/// A line a device: the tables that go to it, with the columns of those that are split.
[[nodiscard]] std::string shard_lists(const PlanDocument& document);

/// What pages call a table: its name, or "table 3".
[[nodiscard]] std::string table_label(const Task& task, int table);

/// `assumptions` and the warning of `cost`, if there is one.
[[nodiscard]] std::vector<std::string> plan_notes(std::vector<std::string> assumptions,
                                                  const PlanCost& cost);

/// Cost of the slowest device over the mean of all; 1 is perfect balance.
[[nodiscard]] double imbalance(const PlanCost& cost);
/// The first device with the highest cost.
[[nodiscard]] int slowest_device(const PlanCost& cost);

}  // namespace neuroshard::tools
