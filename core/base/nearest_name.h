#pragma once

#include <span>
#include <string>
#include <string_view>

namespace neuroshard {

/// The one of `names` that a person who typed `typed` probably meant: the one that the fewest
/// letters left out, added, changed or swapped with their neighbours lead to. Empty if that takes
/// more than one in three of them.
[[nodiscard]] std::string_view nearest_name(std::string_view typed,
                                            std::span<const std::string> names);

}  // namespace neuroshard
