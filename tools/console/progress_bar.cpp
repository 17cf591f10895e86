#include "tools/console/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr std::string_view kWipeLine = "\r\033[K";

std::string time_left(double seconds) {
  const long total = std::lround(std::clamp(seconds, 0.0, 3.6e8));
  char text[48];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%ldh%02ldm left", total / 3600, total / 60 % 60);
  } else if (total >= 60) {
    std::snprintf(text, sizeof text, "%ldm%02lds left", total / 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%lds left", total);
  }
  return text;
}

}  // namespace

ProgressBar::ProgressBar(Console& console, std::string label, std::uint64_t total)
    : console_(console),
      label_(std::move(label)),
      total_(total),
      start_(Clock::now()),
      next_redraw_(start_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) console_.err << kWipeLine << std::flush;
}

void ProgressBar::update(std::uint64_t done, std::string_view note) {
  if (!console_.err_is_terminal) return;
  const Clock::time_point now = Clock::now();
  if (now < next_redraw_) return;
  next_redraw_ = now + kRedrawInterval;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  console_.err << kWipeLine
               << progress_line(label_, done, total_, elapsed_s, note, console_.err_style)
               << std::flush;
  drawn_ = true;
}

std::string progress_line(std::string_view label, std::uint64_t done, std::uint64_t total,
                          double elapsed_s, std::string_view note, const TextStyle& style) {
  constexpr int kBarCells = 24;
  done = std::min(done, total);
  const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
  std::string line(label);
  line += " [" + pad_right(bar(share, kBarCells, style), kBarCells) + "] ";
  line += std::to_string(done) + "/" + std::to_string(total);
  if (done > 0 && done < total) line += "  " + time_left(elapsed_s / share * (1.0 - share));
  if (!note.empty()) line.append("  ").append(note);
  return cut(line, style.columns - 1);
}

}  // namespace neuroshard::tools
