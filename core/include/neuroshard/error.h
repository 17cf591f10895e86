#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Tells a caller what can be done about an error.
enum class ErrorKind {
  kInvalidInput,  ///< A value, file or option is wrong; the message names it and the remedy.
  kIo,            ///< A file cannot be read or written.
  kBackend,       ///< A forced backend cannot run here, or a device failed.
};

/// The one exception type of the library. `what()` says place, fact and remedy, in one line that is
/// safe to print. Control characters, which names from files may hold, are written as \n or \x1b.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ErrorKind kind = ErrorKind::kInvalidInput);

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace neuroshard
#pragma GCC visibility pop
