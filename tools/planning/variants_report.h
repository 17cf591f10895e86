#pragma once

#include <string>
#include <vector>

#include "neuroshard/what_if.h"
#include "tools/console/result_output.h"

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
/// A page with a row a variant, and how little would do; the document of docs/plan_format.md; or a
/// line of JSON a variant.
[[nodiscard]] std::string variants_text(const VariantsReport& report, OutputFormat format,
                                        const TextStyle& style);
/// An SVG file: cost over what there are several of, devices if so, then memory of a device, then
/// of hosts; a line for each combination of the others.
[[nodiscard]] std::string variants_chart(const VariantsReport& report);

}  // namespace neuroshard::tools
