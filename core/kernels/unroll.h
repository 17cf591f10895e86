#pragma once

#include <utility>

namespace neuroshard {

/// Calls `body` with integral constants 0, 1, ..., kCount - 1. Unrolled by the front end, so that
/// arrays of registers indexed by the constant really live in registers: GCC 12 keeps an array that
/// a loop walks in memory, and stores every sum after every step.
template <int kCount, typename Body>
[[gnu::always_inline]] inline void unroll(Body&& body) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, kIndex>{}), ...);
  }
  (std::make_integer_sequence<int, kCount>{});
}

}  // namespace neuroshard
