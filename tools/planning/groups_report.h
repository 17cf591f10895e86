#pragma once

#include <string>
#include <vector>

#include "neuroshard/device_groups.h"
#include "tools/console/result_output.h"

namespace neuroshard::tools {

/// The devices of one task in groups.
struct GroupsReport {
  const Task& task;
  std::string title;
  std::string weights;
  std::vector<std::string> notes;
  GroupsResult result;
};

/// A page with a row for each size and layout, and how other commands are told of the cheapest; the
/// document of docs/device_groups.md; or a line of JSON for each size and layout.
[[nodiscard]] std::string groups_text(const GroupsReport& report, OutputFormat format,
                                      const TextStyle& style);
/// An SVG file: cost over devices of a group, a line for each layout, and for what its iterations
/// take without averaging.
[[nodiscard]] std::string groups_chart(const GroupsReport& report);

}  // namespace neuroshard::tools
