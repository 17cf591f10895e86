#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tools/console/console.h"

namespace neuroshard::tools {

enum class OutputFormat { kTable, kJson, kJsonl };

/// Throws Error listing the names.
[[nodiscard]] OutputFormat output_format_from_name(std::string_view name);

/// Throws Error if the format is json, of which a file holds one, and there are several. `noun`:
/// "task", "plan".
void require_one_for_json(OutputFormat format, std::size_t count, std::string_view noun);

/// The text of a document, and of a list with a line for each of its entries. What is not UTF-8 in
/// a text is replaced.
[[nodiscard]] std::string json_document(const nlohmann::ordered_json& json);
[[nodiscard]] std::string json_lines(const nlohmann::ordered_json& list);

/// True for a device or pipe that exists: it is written to as it comes, and never replaced.
[[nodiscard]] bool is_device(const std::string& path);

/// Where a command's result goes: standard output as it comes, or a file that appears whole at the
/// end. Made before the work starts, so that a file that cannot be written costs no time. Nothing
/// is on disk while the work goes on, so nothing remains if it is interrupted.
class ResultOutput {
 public:
  /// An empty `path`: standard output.
  ResultOutput(Console& console, const std::string& path);

  /// Throws Error (kIo) when the disk is full or the reader has gone.
  void write(std::string_view text);
  /// Writes `last`, and makes the file appear. Call once, last.
  void finish(std::string_view last = {});

  /// Plain for a file.
  [[nodiscard]] const TextStyle& style() const { return style_; }

 private:
  Console& console_;
  std::string path_;
  std::string text_;  ///< Text of the file.
  TextStyle style_;
};

/// The output to `path`; nothing if that is empty.
[[nodiscard]] std::optional<ResultOutput> optional_output(Console& console,
                                                          const std::string& path);

}  // namespace neuroshard::tools
