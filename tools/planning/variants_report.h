#pragma once

#include <string>
#include <vector>

#include "neuroshard/what_if.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

/// Report on what several --devices, --memory-gb and sizes of --host-memory ask of one task.
struct VariantsReport {
  const Task& task;
  std::string title;
  std::string weights;
  std::vector<std::string> notes;
  double read_ms = 0.0;
  std::vector<TaskVariant> variants;
  std::vector<PlanOutcome> outcomes;  ///< One a variant.
};

/// "4 devices of 8.00 GiB", "4 devices of 8.00 GiB, hosts of 100 GiB"
[[nodiscard]] std::string variant_text(const TaskVariant& variant);
/// A row a variant, and how little would do.
[[nodiscard]] std::string variants_page(const VariantsReport& report, const TextStyle& style);
/// The document of docs/plan_format.md.
[[nodiscard]] std::string variants_json(const VariantsReport& report);
/// A line of JSON a variant.
[[nodiscard]] std::string variants_json_lines(const VariantsReport& report);
/// An SVG file: cost over what there are several of, devices if so, then memory of a device, then
/// of hosts; a line for each combination of the others.
[[nodiscard]] std::string variants_chart(const VariantsReport& report);

}  // namespace neuroshard::tools
