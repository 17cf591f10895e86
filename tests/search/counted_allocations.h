#pragma once

#include <cstddef>

namespace neuroshard::testing {

/// How often operator new has been called in this program so far.
[[nodiscard]] std::size_t allocations();

}  // namespace neuroshard::testing
