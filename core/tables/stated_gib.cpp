#include "core/tables/stated_gib.h"

#include <array>
#include <charconv>

#include "neuroshard/task.h"

namespace neuroshard {

double stated_gib(std::int64_t bytes) {
  const double exact = gib_from_bytes(bytes);
  if (bytes < 1) return exact;
  std::array<char, 40> text{};
  for (int digits = 1; digits < 17; ++digits) {
    const char* const end = std::to_chars(text.data(), text.data() + text.size(), exact,
                                          std::chars_format::general, digits)
                                .ptr;
    double rounded = 0.0;
    (void)std::from_chars(text.data(), end, rounded);
    if (rounded > 0.0 && rounded < kGibLimit && bytes_from_gib(rounded) == bytes) return rounded;
  }
  return exact;
}

}  // namespace neuroshard
