#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace neuroshard::tools {

/// Starts the program `arguments[0]` with these variables added to its environment, nothing on
/// standard input, and `out` and `err` written to these files; nothing waits for it.
inline pid_t start_process(std::vector<std::string> arguments, const std::string& out,
                           const std::string& err,
                           const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
  ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

}  // namespace neuroshard::tools
