#pragma once

#include <string>
#include <vector>

#include "neuroshard/device_groups.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

/// The devices of one task in groups.
struct GroupsReport {
  const Task& task;
  std::string title;
  std::string weights;
  std::vector<std::string> notes;
  GroupsResult result;
};

/// A row for each size and layout, and how other commands are told of the cheapest.
[[nodiscard]] std::string groups_page(const GroupsReport& report, const TextStyle& style);
/// The document of docs/device_groups.md.
[[nodiscard]] std::string groups_json(const GroupsReport& report);
/// A line of JSON for each size and layout.
[[nodiscard]] std::string groups_json_lines(const GroupsReport& report);
/// An SVG file: cost over devices of a group, a line for each layout, and for what its iterations
/// take without averaging.
[[nodiscard]] std::string groups_chart(const GroupsReport& report);

}  // namespace neuroshard::tools
