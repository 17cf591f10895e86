#pragma once

namespace neuroshard::tools {

/// While one lives, Ctrl-C (SIGINT) and SIGTERM do not end the program but are remembered, so that
/// a long run can end in good order. A second Ctrl-C ends it at once. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] bool interrupted() const;
};

}  // namespace neuroshard::tools
