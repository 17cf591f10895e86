#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/plan_file.h"
#include "tools/plan_pages/bound_text.h"

namespace neuroshard::tools {

// Parts of the HTML report that are to be seen without scrolling, in the order of the page.

/// The plan in five figures: cost, lower bound, the device that decides, work and waiting, memory.
[[nodiscard]] std::string figure_list(const PlanDocument& document,
                                      const std::optional<PlanBound>& bound);

/// The tables that cost most, by `table_ms` (table_work_ms()), and how each is sharded.
[[nodiscard]] std::string table_panel(const PlanDocument& document,
                                      const std::vector<double>& table_ms);

/// Nodes with the work, waiting and memory of their devices, the busiest first.
[[nodiscard]] std::string node_panel(const PlanDocument& document);

/// HBM and the memory of hosts: what is used of each, and which rows wait in the latter.
[[nodiscard]] std::string tier_panel(const PlanDocument& document);

/// Tables that every device holds, and what they cost.
[[nodiscard]] std::string replica_panel(const PlanDocument& document);

/// Text from anywhere, safe within an element and within quotes.
[[nodiscard]] std::string html_text(std::string_view text);
/// A section with a head, not closed.
[[nodiscard]] std::string panel_begin(std::string_view id, std::string_view title);
struct TableHead {
  std::string name;
  std::string_view kind = {};   ///< Class of the cell.
  std::string_view about = {};  ///< Shown on request.
};
/// A small table's head, and the beginning of its body.
[[nodiscard]] std::string table_begin(const std::vector<TableHead>& heads);

struct FullestDevice {
  std::size_t device = 0;
  double share = 0.0;  ///< Part of its memory; reserved and base bytes count as used.
};
[[nodiscard]] FullestDevice fullest_device(const Task& task, const PlanCost& cost);

}  // namespace neuroshard::tools
