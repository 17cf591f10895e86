#include "core/base/message_text.h"
#include "core/tables/overlap_fields.h"

namespace neuroshard {

std::optional<std::string> overlap_problem_of(const Overlap& overlap) {
  for (const auto& [name, ms] : kOverlapTimeFields) {
    if (overlap.*ms >= 0.0 && overlap.*ms <= kMostOverlapMs) continue;
    return std::string(name) + " is " + shortest_text(overlap.*ms) +
           "; give milliseconds of an iteration, 0 to 1e6, or leave it out";
  }
  return std::nullopt;
}

std::string overlap_text(const Overlap& overlap) {
  std::string text = overlap.ids ? kOverlapIdsField : "";
  for (const auto& [name, ms] : kOverlapTimeFields) {
    if (overlap.*ms == 0.0) continue;
    text.append(text.empty() ? "" : ", ")
        .append(name)
        .append(" ")
        .append(shortest_text(overlap.*ms));
  }
  return text;
}

}  // namespace neuroshard
