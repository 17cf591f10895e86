#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "weights/lookups/access_stream.h"

namespace neuroshard {

/// The session of each of so many samples, from a NumPy file of integers. Throws Error if it cannot
/// be read, or has other than one dimension or as many sessions.
[[nodiscard]] std::vector<std::int64_t> open_npy_sessions(const std::filesystem::path& path,
                                                          std::int64_t samples);

/// The samples of a batch without those whose lookups, in their order, are the same as of another
/// one of their session. `sessions` is [samples]. What is left keeps its order.
[[nodiscard]] AccessStream distinct_samples(const AccessStream& batch,
                                            std::span<const std::int64_t> sessions);

}  // namespace neuroshard
