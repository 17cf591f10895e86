#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard::training {

/// Reads a `data.txt`: lines of groups, separated by spaces, of numbers, separated by commas.
class SampleFile {
 public:
  /// Throws Error (kIo) if the file cannot be opened or has more than kMaxBytes.
  explicit SampleFile(const std::filesystem::path& path);

  static constexpr std::uintmax_t kMaxBytes = std::uintmax_t{1} << 30;
  /// Limit of a line; one of 1,024 devices has some 50,000.
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

  /// The next line that is not blank, as groups; false at the end of the file. Throws Error unless
  /// the line has `groups` groups, or up to `most_groups`, and at most kMaxLineBytes.
  [[nodiscard]] bool next(std::size_t groups, std::size_t most_groups = 0);
  [[nodiscard]] std::size_t groups() const { return groups_.size(); }
  [[nodiscard]] std::size_t count(std::size_t group) const { return groups_[group].size(); }

  /// As it stands there, until the next line is read.
  [[nodiscard]] std::string_view text(std::size_t group, std::size_t index) const {
    return groups_[group][index];
  }
  /// Throws Error if number `index` of a group is not what is asked for. `what` names it.
  [[nodiscard]] std::int64_t integer(std::size_t group, std::size_t index, std::int64_t low,
                                     std::int64_t high, const char* what) const;
  /// Finite and not negative.
  [[nodiscard]] double number(std::size_t group, std::size_t index, const char* what) const;
  [[nodiscard]] float milliseconds(std::size_t group, std::size_t index, const char* what) const;

  /// Throws Error that opens with file and line.
  [[noreturn]] void fail(const std::string& fact) const;

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::vector<char> buffer_;
  std::string_view line_;
  std::size_t line_number_ = 0;
  std::vector<std::vector<std::string_view>> groups_;
};

}  // namespace neuroshard::training
