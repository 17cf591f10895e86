#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tools/console.h"
#include "weights/atomic_file.h"

namespace neuroshard::tools {

enum class OutputFormat { kTable, kJson, kJsonl };

/// Throws Error listing the names.
[[nodiscard]] OutputFormat output_format_from_name(std::string_view name);

/// Where a command's result goes: standard output as it comes, or a file that appears whole at the
/// end. Made before the work starts, so that a file that cannot be written costs no time.
class ResultOutput {
 public:
  /// An empty `path`: standard output.
  ResultOutput(Console& console, const std::string& path);

  /// Throws Error (kIo) when the disk is full or the reader has gone.
  void write(std::string_view text);
  /// Makes the file appear. Call once, last; without it nothing remains.
  void finish();

  /// Plain for a file.
  [[nodiscard]] const TextStyle& style() const { return style_; }

 private:
  Console& console_;
  std::unique_ptr<AtomicFile> file_;
  TextStyle style_;
};

}  // namespace neuroshard::tools
