#pragma once

namespace neuroshard {

/// Codes that our programs return to the shell.
enum ExitCode : int {
  kExitOk = 0,
  kExitInfeasible = 1,  ///< Some task has no plan, or a plan does not fit.
  kExitBadInput = 2,    ///< Bad input or usage; also a disk that is full, a check that failed.
};

}  // namespace neuroshard
