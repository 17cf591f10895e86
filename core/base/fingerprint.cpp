#include "core/base/fingerprint.h"

#include <cstdio>

namespace neuroshard {

void Fingerprint::add(std::string_view bytes) {
  // With the length, so that "ab" "c" and "a" "bc" differ.
  const std::uint64_t size = bytes.size();
  for (unsigned shift = 0; shift < 64; shift += 8) {
    value_ = (value_ ^ (size >> shift & 0xffU)) * 0x100000001b3U;
  }
  for (const char byte : bytes) {
    value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
}

std::string hex_digits(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace neuroshard
