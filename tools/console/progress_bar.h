#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/console/console.h"

namespace neuroshard::tools {

/// One line that is redrawn in place on `console.err`: label, bar, count, time left. Draws nothing
/// unless that is a terminal. The line is wiped on destruction, so that errors start on a clean
/// one. Use from one thread.
class ProgressBar {
 public:
  ProgressBar(Console& console, std::string label, std::uint64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` of `total` so far; `note` (e.g. "loss 0.012") ends the line. Cheap: redraws ten times a
  /// second at most.
  void update(std::uint64_t done, std::string_view note = {});

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  std::string label_;
  std::uint64_t total_;
  Clock::time_point start_;
  Clock::time_point next_redraw_;
  bool drawn_ = false;
};

/// The text of the bar, cut to `style.columns - 1` so that no terminal wraps it.
[[nodiscard]] std::string progress_line(std::string_view label, std::uint64_t done,
                                        std::uint64_t total, double elapsed_s,
                                        std::string_view note, const TextStyle& style);

}  // namespace neuroshard::tools
