#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace neuroshard {

/// The number that all of `text` is; nothing if it is none, out of range, or more follows.
template <typename Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace neuroshard
