#pragma once

#include <span>
#include <string>
#include <vector>

namespace neuroshard::tools {

/// Predicted over measured costs of one network.
struct ScatterPanel {
  std::string title;
  std::string caption;  ///< Under the title.
  std::vector<float> measured_ms;
  std::vector<float> predicted_ms;
};

/// A page of panels, `columns` side by side, each with equal axes and the line on which predictions
/// are right. A panel with more than a few thousand points shows an even selection of them.
[[nodiscard]] std::string scatter_svg(std::span<const ScatterPanel> panels, int columns);

/// The distance between ticks, 1, 2 or 5 times a power of ten, that puts 4 to 10 of them on
/// `range`.
[[nodiscard]] double tick_step(double range);

}  // namespace neuroshard::tools
