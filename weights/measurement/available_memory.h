#pragma once

#include <cstdint>

namespace neuroshard {

/// Bytes that processes may still take without swapping, by what the kernel and the control group
/// of this process say (Linux); INT64_MAX if they do not.
[[nodiscard]] std::int64_t available_memory();

}  // namespace neuroshard
