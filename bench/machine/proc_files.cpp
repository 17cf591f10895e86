#include "bench/machine/proc_files.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace neuroshard::bench {
namespace {

std::string_view without_spaces_around(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The first line of `text` that starts with `key`, without the key; `text` moves on behind it.
std::optional<std::string_view> next_field(std::string_view& text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (without_spaces_around(line.substr(0, colon)) != key) continue;
    return without_spaces_around(line.substr(colon + 1));
  }
  return std::nullopt;
}

}  // namespace

std::string contents_if_readable(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream contents;
  contents << file.rdbuf();
  return file ? contents.str() : "";
}

std::string field_of(std::string_view text, std::string_view key) {
  return std::string(next_field(text, key).value_or(std::string_view{}));
}

std::optional<std::int64_t> peak_resident_bytes(std::string_view proc_status) {
  const std::string value = field_of(proc_status, "VmHWM");
  if (!value.ends_with(" kB")) return std::nullopt;
  return std::strtoll(value.c_str(), nullptr, 10) * 1024;
}

std::optional<std::int64_t> peak_resident_bytes() {
  return peak_resident_bytes(contents_if_readable("/proc/self/status"));
}

std::string clocks_of(std::string_view cpuinfo) {
  long low = 0;
  long high = 0;
  while (const auto value = next_field(cpuinfo, "cpu MHz")) {
    const long mhz = std::strtol(std::string(*value).c_str(), nullptr, 10);
    low = low == 0 ? mhz : std::min(low, mhz);
    high = std::max(high, mhz);
  }
  if (high == 0) return "";
  std::string text;
  if (low != high) text = std::to_string(low) + "-";
  return text + std::to_string(high) + " MHz";
}

std::string arithmetic_flags(std::string_view flags) {
  constexpr std::array kInteresting = {"avx",      "avx2",     "fma",      "f16c",
                                       "avx512f",  "avx512vl", "avx512dq", "avx512bw",
                                       "avx_vnni", "amx_tile", "asimd",    "sve"};
  std::istringstream words{std::string(flags)};
  const std::set<std::string> present{std::istream_iterator<std::string>(words), {}};
  std::string found;
  for (const char* flag : kInteresting) {
    if (present.count(flag) == 0) continue;
    if (!found.empty()) found += ' ';
    found += flag;
  }
  return found;
}

}  // namespace neuroshard::bench
