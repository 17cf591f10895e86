#pragma once

#include <array>
#include <optional>
#include <string>

#include "neuroshard/overlap.h"

namespace neuroshard {

inline constexpr const char* kOverlapIdsField = "ids";

/// A time of Overlap and its name in files and messages.
struct OverlapTimeField {
  const char* name;
  double Overlap::*ms;
};

inline constexpr std::array kOverlapTimeFields = {
    OverlapTimeField{"dense_ms", &Overlap::dense_ms},
    OverlapTimeField{"dense_beside_outputs_ms", &Overlap::dense_beside_outputs_ms},
    OverlapTimeField{"dense_beside_gradients_ms", &Overlap::dense_beside_gradients_ms},
    OverlapTimeField{"host_ms", &Overlap::host_ms}};

/// Says what of `overlap` cannot be, and what to do about it: "dense_ms is ...". Nothing if it can.
[[nodiscard]] std::optional<std::string> overlap_problem_of(const Overlap& overlap);

/// "ids, dense_ms 3": what is not as by default. Empty if all is.
[[nodiscard]] std::string overlap_text(const Overlap& overlap);

}  // namespace neuroshard
