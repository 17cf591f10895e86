#pragma once

#include <cstddef>

namespace neuroshard::testing {

/// How often operator new has been called in this program so far.
[[nodiscard]] std::size_t allocations();

/// From now on, lets the `n`-th call of operator new fail with std::bad_alloc, once; 0: none.
void fail_allocation(std::size_t n);
/// Whether it has failed since.
[[nodiscard]] bool allocation_has_failed();

}  // namespace neuroshard::testing
