#pragma once

#include <string>
#include <vector>

namespace neuroshard::bench {

struct ChildResult {
  std::string output;  ///< All of its standard output.
  bool timed_out = false;
  int exit_code = -1;  ///< -1: ended by a signal, e.g. for lack of memory, or after the timeout.
};

/// Runs this very program with `args` and waits for it; ends it after `timeout_s` seconds. Its
/// standard error is ours. Throws Error if no process can be started.
[[nodiscard]] ChildResult run_self(const std::vector<std::string>& args, double timeout_s);

}  // namespace neuroshard::bench
