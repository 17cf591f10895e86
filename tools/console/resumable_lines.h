#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard::tools {

/// The lines of an output file that outlive an interrupted run, in OUTPUT.partial: a line that says
/// what is being computed, then the finished lines in order, on disk as soon as they are added. A
/// line cut off by a kill does not count. One process at a time.
class ResumableLines {
 public:
  /// `fingerprint` stands for all that decides the lines. Throws Error if OUTPUT.partial is of
  /// other work, is in use by another process, or cannot be read or written.
  ResumableLines(const std::filesystem::path& output, std::uint64_t fingerprint);
  ~ResumableLines();
  ResumableLines(const ResumableLines&) = delete;
  ResumableLines& operator=(const ResumableLines&) = delete;

  /// Those of earlier runs, and those added since; without line ends.
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  /// A line without its end. Throws Error (kIo) naming the file.
  void add(std::string line);
  /// All lines become the output file, and the partial one goes.
  void finish();

 private:
  void read_earlier(const std::string& header);
  void write(std::string_view bytes);
  [[noreturn]] void fail(int error_number) const;

  std::filesystem::path output_;
  std::filesystem::path partial_;
  int descriptor_ = -1;
  std::vector<std::string> lines_;
};

}  // namespace neuroshard::tools
