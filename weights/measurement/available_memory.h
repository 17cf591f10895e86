#pragma once

#include <cstdint>
#include <filesystem>

namespace neuroshard {

/// Bytes that processes may still take without swapping, by what the kernel and the control groups
/// of this process, its own and those that it lies in, say (Linux); INT64_MAX if they do not.
/// `root` is for tests: the folder in whose place / stands.
[[nodiscard]] std::int64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace neuroshard
