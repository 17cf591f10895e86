#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weights/lookups/access_data.h"

namespace neuroshard::tools {

/// Files with recorded lookups.
struct AccessFiles {
  std::string accesses;               ///< Published file (.pt or .pt.gz), or the indices (.npy).
  std::string lengths;                ///< With indices: this
  std::string offsets;                ///< or this,
  std::optional<std::int64_t> batch;  ///< and how offsets divide into tables.
  std::int64_t batches = 1;           ///< Equal ones, which the samples are one after the other.
};

/// Throws Error if they do not go together, or are not such files.
[[nodiscard]] AccessData open_accesses(const AccessFiles& files);

}  // namespace neuroshard::tools
