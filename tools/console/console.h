#pragma once

#include <ostream>
#include <string>

namespace neuroshard::tools {

/// How text may be drawn on a stream.
struct TextStyle {
  bool unicode = false;  ///< Block characters for bars; else ASCII.
  bool color = false;    ///< ANSI colours.
  int columns = 100;     ///< Width to stay within.
};

/// Where a command writes. Commands take it as a parameter, so tests can hand in string streams.
struct Console {
  std::ostream& out;
  std::ostream& err;
  TextStyle out_style{};
  TextStyle err_style{};
  bool out_is_terminal = false;
  bool err_is_terminal = false;  ///< Progress bars are drawn only then.
};

/// std::cout and std::cerr. Colour only on a terminal and unless NO_COLOR is set or TERM is "dumb";
/// Unicode only on a terminal in a UTF-8 locale.
[[nodiscard]] Console standard_console();

/// A line on `console.err`, if `warning` is not empty.
void warn(const std::string& warning, Console& console);

/// A line on `console.err`: `task` has no plan, and why.
void say_no_plan(const std::string& task, const std::string& reason, Console& console);

/// Flushes `out`; throws Error (kIo) if anything written to it was lost (disk full, closed pipe).
void require_written(std::ostream& out, const std::string& name);

}  // namespace neuroshard::tools
