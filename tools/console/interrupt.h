#pragma once

#include <array>
#include <csignal>

namespace neuroshard::tools {

/// While one lives, Ctrl-C (SIGINT), SIGTERM and a terminal that is closed (SIGHUP) do not end the
/// program but are remembered, so that a long run can end in good order. A second one ends it at
/// once. Signals that the program was started to ignore stay ignored. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] bool interrupted() const;

 private:
  std::array<void (*)(int), 3> before_{};  ///< Handlers of the signals before.
};

}  // namespace neuroshard::tools
