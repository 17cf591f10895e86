#pragma once

#include <cstdint>
#include <string>

#include "weights/lookups/profile_log.h"

namespace neuroshard::tools {

/// The miss curves of a profile that has them, as JSON; docs/collecting.md has the format.
[[nodiscard]] std::string cache_statistics_file(const LogProfile& profile,
                                                std::int64_t batch_samples);

}  // namespace neuroshard::tools
