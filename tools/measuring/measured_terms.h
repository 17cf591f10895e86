#pragma once

#include <array>
#include <string_view>

#include "neuroshard/plan.h"
#include "weights/measurement/measure_plans.h"

namespace neuroshard::tools {

/// One of the terms of a device's cost that is both predicted and measured.
struct MeasuredTerm {
  std::string_view name;
  double DeviceCost::*predicted_ms;
  ranks::Spread (*measured)(const ranks::MeasuredDevice& device);
};

inline constexpr std::array<MeasuredTerm, 5> kMeasuredTerms = {{
    {"compute", &DeviceCost::compute_ms,
     [](const ranks::MeasuredDevice& device) { return device.compute; }},
    {"forward", &DeviceCost::forward_ms,
     [](const ranks::MeasuredDevice& device) { return device.phase(ranks::Phase::kForward); }},
    {"backward", &DeviceCost::backward_ms,
     [](const ranks::MeasuredDevice& device) { return device.phase(ranks::Phase::kBackward); }},
    {"ids", &DeviceCost::ids_ms,
     [](const ranks::MeasuredDevice& device) { return device.phase(ranks::Phase::kIds); }},
    {"all_reduce", &DeviceCost::all_reduce_ms,
     [](const ranks::MeasuredDevice& device) { return device.phase(ranks::Phase::kAllReduce); }},
}};

}  // namespace neuroshard::tools
