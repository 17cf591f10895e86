#pragma once

#include <string>

#include "tools/console/console.h"
#include "weights/lookups/table_statistics.h"

namespace neuroshard::tools {

/// `generated` and the published statistics side by side.
[[nodiscard]] std::string statistics_page(const TableStatistics& generated, const TextStyle& style);

}  // namespace neuroshard::tools
