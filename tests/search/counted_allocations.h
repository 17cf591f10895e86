#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <new>

namespace neuroshard::testing {

/// How often operator new has been called in this program so far.
[[nodiscard]] std::size_t allocations();

/// From now on, lets the `n`-th call of operator new fail with std::bad_alloc, once; 0: none.
void fail_allocation(std::size_t n);
/// Whether it has failed since.
[[nodiscard]] bool allocation_has_failed();

/// Does `work` with its first allocation failing, then with others, until it has none left to fail;
/// after the nth it is allocation next(n). Each time `work` throws std::bad_alloc or gets by
/// without (with a thread less, say); then `check` looks at what is left behind. It must throw more
/// than `few` times.
template <typename Next, typename Work, typename Check>
void fail_allocations(const Next& next, const Work& work, const Check& check,
                      std::size_t few = 10) {
  std::size_t thrown = 0;
  for (std::size_t n = 1;; n = next(n)) {
    SCOPED_TRACE(n);
    fail_allocation(n);
    try {
      work();
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    const bool failed = allocation_has_failed();
    fail_allocation(0);
    ASSERT_NO_FATAL_FAILURE(check());
    if (!failed) break;
  }
  EXPECT_GT(thrown, few);
}

}  // namespace neuroshard::testing
