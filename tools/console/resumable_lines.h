#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard::tools {

/// The lines of an output file that outlive an interrupted run, in OUTPUT.partial: a line that says
/// what is being computed, then the finished lines as they came, on disk as soon as they are added,
/// each with a checksum and its number. A line cut off by a kill does not count. One process at a
/// time.
class ResumableLines {
 public:
  /// `fingerprint` stands for all that decides the `count` lines. Throws Error if OUTPUT.partial is
  /// of other work, is in use by another process, or cannot be read or written.
  ResumableLines(const std::filesystem::path& output, std::uint64_t fingerprint, std::size_t count);
  ~ResumableLines();
  ResumableLines(const ResumableLines&) = delete;
  ResumableLines& operator=(const ResumableLines&) = delete;

  /// [count]: those of earlier runs, and those added since; without line ends.
  [[nodiscard]] const std::vector<std::optional<std::string>>& lines() const { return lines_; }
  /// In words, which of the earlier lines do not count: those that do not agree with their
  /// checksum, or came before, and those that are missing before others. Empty if all is well.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// Line `number`, which is not there yet, without its end. Throws Error (kIo) naming the file.
  void add(std::size_t number, std::string line);
  /// All lines, each of which must be there, become the output file, and the partial one goes.
  void finish();

 private:
  void read_earlier();
  // False if the line does not count.
  [[nodiscard]] bool take(std::string_view written);
  [[nodiscard]] std::string checksum_of(std::string_view numbered) const;
  void write(std::string_view bytes);
  [[noreturn]] void fail(int error_number) const;

  std::filesystem::path output_;
  std::filesystem::path partial_;
  std::string header_;
  int descriptor_ = -1;
  std::vector<std::optional<std::string>> lines_;
  std::string damage_;
};

}  // namespace neuroshard::tools
