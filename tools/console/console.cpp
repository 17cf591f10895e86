#include "tools/console/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

#include "core/base/message_text.h"
#include "neuroshard/error.h"

namespace neuroshard::tools {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

int columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return TextStyle{}.columns;
}

TextStyle style_of(int descriptor) {
  TextStyle style;
  if (isatty(descriptor) == 0) return style;
  style.unicode = locale_is_utf8();
  style.color = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  style.columns = columns_of(descriptor);
  return style;
}

}  // namespace

Console standard_console() {
  return {std::cout,
          std::cerr,
          style_of(STDOUT_FILENO),
          style_of(STDERR_FILENO),
          isatty(STDOUT_FILENO) != 0,
          isatty(STDERR_FILENO) != 0};
}

void warn(const std::string& warning, Console& console) {
  if (!warning.empty()) console.err << "neuroshard: warning: " << printable(warning) << '\n';
}

void say_no_plan(const std::string& task, const std::string& reason, Console& console) {
  console.err << "neuroshard: no plan: " << printable(task + ": " + reason) << '\n';
}

void require_written(std::ostream& out, const std::string& name) {
  errno = 0;
  out.flush();
  if (out) return;
  const int reason = errno;
  throw Error(name + ": not everything could be written" +
                  (reason == 0 ? "" : std::string(" (") + std::strerror(reason) + ")") +
                  "; check free disk space, or that the reader is still there",
              ErrorKind::kIo);
}

}  // namespace neuroshard::tools
