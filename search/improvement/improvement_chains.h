#pragma once

#include <cstddef>
#include <vector>

#include "search/improvement/annealing.h"

namespace neuroshard {

/// On so few devices a plan is to take a few milliseconds.
inline constexpr int kQuickDevices = 4;

/// Rounds of improvement, in the order of effort.
enum class ImprovementRound { kShort, kDefault, kLongHot, kLongWarm };

/// What decides how long plans are worth improving.
struct ImprovementCase {
  int devices = 1;
  std::size_t slices = 0;        ///< Of the best plan.
  bool links = false;            ///< Nodes have links of their own.
  bool groups = false;           ///< Tables are kept together or apart.
  bool improved_before = false;  ///< A short round has been there already.
};

/// The chains of a round. All but the first go further from where they start, every other one by
/// another way. Streams of random numbers, and whether widths are equal, are the caller's to say.
[[nodiscard]] std::vector<AnnealingOptions> improvement_chains(ImprovementRound round,
                                                               const ImprovementCase& of);

}  // namespace neuroshard
