#include "core/base/message_text.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>

namespace neuroshard {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// Bytes of the UTF-8 character at the start of `text` and its code point; 0 bytes if there is
/// none (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
struct Character {
  std::size_t bytes = 0;
  unsigned code = 0;
};
Character first_character(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  unsigned code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const unsigned next = byte_at(text, i);
    if ((next & 0xC0U) != 0x80U) return {};
    code = code << 6U | (next & 0x3FU);
  }
  constexpr std::array<unsigned, 5> kLowest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLowest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {bytes, code};
}

bool is_hidden(unsigned code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||  // C0, DEL, C1
         code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) ||  // Line ends, and turns of direction.
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string escape(unsigned code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      char text[16];
      std::snprintf(text, sizeof text, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
      return text;
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.bytes == 0) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02x", byte_at(text, 0));
      result += byte;
    } else if (is_hidden(character.code)) {
      result += escape(character.code);
    } else {
      result += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return result;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {" KiB", " MiB", " GiB", " TiB", " PiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return format_number(value, value < 10.0 ? 2 : value < 100.0 ? 1 : 0).append(kUnits[unit]);
}

std::string format_number(double value, int digits) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string format_percent(double share, int digits) {
  return format_number(100.0 * share, digits) + " %";
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return format_count(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

std::string shortest_text(double value) {
  std::array<char, 40> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace neuroshard
