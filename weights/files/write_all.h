#pragma once

#include <string_view>

namespace neuroshard {

/// Writes all of `bytes` to a file descriptor, in several steps if it must. 0, or the errno of what
/// failed.
[[nodiscard]] int write_all(int descriptor, std::string_view bytes);

}  // namespace neuroshard
