#include "weights/training/sample_file.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/base/number_in.h"
#include "neuroshard/error.h"

namespace neuroshard::training {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Enough of a malformed number to find it by.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 24;
  std::string quote(1, '\'');
  quote.append(text.substr(0, kShown));
  quote.append(text.size() > kShown ? "...'" : "'");
  return quote;
}

}  // namespace

SampleFile::SampleFile(const std::filesystem::path& path) : path_(path), stream_(path) {
  if (!stream_ || std::filesystem::is_directory(path)) {
    throw Error(path.string() + ": cannot be opened; give a folder with a data.txt",
                ErrorKind::kIo);
  }
  std::error_code is_pipe;
  const std::uintmax_t bytes = std::filesystem::file_size(path, is_pipe);
  if (!is_pipe && bytes > kMaxBytes) {
    throw Error(path.string() + ": has " + std::to_string(bytes) + " bytes; at most " +
                    std::to_string(kMaxBytes) + " of samples are read; give fewer",
                ErrorKind::kIo);
  }
  // No line is longer than its file; one byte ends it.
  constexpr std::uintmax_t kLeast = 4096;
  constexpr std::uintmax_t kMost = kMaxLineBytes;
  buffer_.resize((is_pipe ? kMost : std::clamp(bytes, kLeast, kMost)) + 1);
}

bool SampleFile::next(std::size_t groups, std::size_t most_groups) {
  do {
    const bool found = !!stream_.getline(buffer_.data(), static_cast<long>(buffer_.size()));
    if (stream_.bad()) throw Error(path_.string() + ": cannot be read", ErrorKind::kIo);
    const auto taken = static_cast<std::size_t>(stream_.gcount());
    if (!found && taken == 0) return false;
    ++line_number_;
    if (!found) fail("is longer than " + std::to_string(buffer_.size() - 1) + " bytes");
    // `taken` includes the line's end, but for a last line that has none.
    line_ = std::string_view(buffer_.data(), taken - (stream_.eof() ? 0 : 1));
    line_ = line_.substr(0, line_.find_last_not_of(" \t\r") + 1);
  } while (line_.empty());

  groups_.clear();
  for (const std::string_view group : split(line_, ' ')) groups_.push_back(split(group, ','));
  const std::size_t most = std::max(groups, most_groups);
  if (groups_.size() < groups || groups_.size() > most) {
    fail("has " + std::to_string(groups_.size()) + " groups separated by spaces; expected " +
         std::to_string(groups) + (most > groups ? " or " + std::to_string(most) : ""));
  }
  return true;
}

std::int64_t SampleFile::integer(std::size_t group, std::size_t index, std::int64_t low,
                                 std::int64_t high, const char* what) const {
  const std::string_view text = groups_[group][index];
  const std::optional<std::int64_t> value = number_in<std::int64_t>(text);
  if (!value) fail(std::string(what) + " " + quoted(text) + " is not an integer");
  if (*value < low || *value > high) {
    fail(std::string(what) + " " + std::to_string(*value) + " is not between " +
         std::to_string(low) + " and " + std::to_string(high));
  }
  return *value;
}

double SampleFile::number(std::size_t group, std::size_t index, const char* what) const {
  const std::string_view text = groups_[group][index];
  const std::optional<double> value = number_in<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0.0) {
    fail(std::string(what) + " " + quoted(text) + " is not a number of 0 or more");
  }
  return *value;
}

float SampleFile::milliseconds(std::size_t group, std::size_t index, const char* what) const {
  const std::string_view text = groups_[group][index];
  const std::optional<double> value = number_in<double>(text);
  if (!value) fail(std::string(what) + " " + quoted(text) + " is not a number");
  // No cost of a real operator comes near the bound; beyond it squared errors would overflow.
  constexpr double kLongest = 1e9;
  if (!std::isfinite(*value) || *value < 0.0 || *value > kLongest) {
    fail(std::string(what) + " is " + quoted(text) +
         " ms; times are finite and not negative: remove the line or measure it again");
  }
  return static_cast<float>(*value);
}

void SampleFile::fail(const std::string& fact) const {
  throw Error(path_.string() + ":" + std::to_string(line_number_) + ": " + fact);
}

}  // namespace neuroshard::training
