#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/json_report.h"
#include "bench/scale/scale_point.h"

namespace neuroshard::bench {

/// A size that was to be measured, and what came of it.
struct ScaleResult {
  std::string task_file;  ///< Empty: a task of this size is drawn.
  int tables = 0;
  int devices = 0;
  std::optional<ScalePoint> point;  ///< Empty: it took too long, or failed.
  std::string failure;
};

/// A row a size. 'growth' is the exponent e of time ~ (tables x devices)^e from the row before.
[[nodiscard]] std::string scale_table(std::span<const ScaleResult> results);

/// Two panels: time over tables, and over devices.
[[nodiscard]] std::string scale_chart(std::span<const ScaleResult> by_tables,
                                      std::span<const ScaleResult> by_devices);

/// Adds "scale/tables:T/devices:D"; of a task file, "scale/STEM/tables:T/devices:D", so that a
/// drawn task of the same size is another benchmark. Nothing if there is no point.
void add_to_report(JsonReport& report, const ScaleResult& result, int threads);

}  // namespace neuroshard::bench
