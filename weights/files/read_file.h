#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace neuroshard {

/// Largest file that is read into memory.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 28;

/// Contents of a file or pipe. Throws Error (kIo) naming it if it cannot be read or has more than
/// `max_bytes`.
[[nodiscard]] std::string read_file(const std::filesystem::path& path,
                                    std::size_t max_bytes = kMaxFileBytes);

}  // namespace neuroshard
