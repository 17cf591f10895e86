#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace neuroshard {

// How text from elsewhere and numbers are written wherever people read them: in messages, and on
// the pages of the programs. Files meant for programs hold the bytes and numbers as they are.

/// `text` (a name, a path, a note) with whatever could steer a terminal or forge a line made
/// visible: control characters as \n, \t, \r or \x1b, bytes that are not UTF-8 as \xff, characters
/// that turn the direction of writing or end lines as \u202e. All else, backslashes too, stays as
/// it is, so doing it twice changes nothing.
[[nodiscard]] std::string printable(std::string_view text);

/// "12.3 GiB", "640 MiB", "12.0 KiB", "17 B".
[[nodiscard]] std::string format_bytes(std::int64_t bytes);
/// `digits` after the point.
[[nodiscard]] std::string format_number(double value, int digits);
/// A share of 1, `digits` after the point: "12.3 %".
[[nodiscard]] std::string format_percent(double share, int digits);
/// With the fewest digits that give back the number.
[[nodiscard]] std::string shortest_text(double value);
/// 12,345,678.
[[nodiscard]] std::string format_count(std::uint64_t count);
/// "1 device", "1,022 devices".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

/// "a, b": all of `all`, each as the text or number that `shown` makes of it.
template <typename Range, typename Shown = std::identity>
[[nodiscard]] std::string joined(const Range& all, std::string_view separator = ", ",
                                 const Shown& shown = {}) {
  std::string text;
  for (const auto& one : all) {
    if (!text.empty()) text += separator;
    const auto& part = std::invoke(shown, one);
    if constexpr (requires { std::to_string(part); }) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  }
  return text;
}

}  // namespace neuroshard
