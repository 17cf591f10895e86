#pragma once

#include <cstdint>
#include <span>

#include "core/base/thread_team.h"
#include "neuroshard/training.h"

namespace neuroshard::training {

/// `start`, calibrated to operators that are drawn at costs of a linear fit to the samples `used`:
/// a sum of few terms knows machines better that are unlike the start's.
[[nodiscard]] ComputeModel linear_start(const ComputeModel& start, const ComputeSamples& samples,
                                        std::span<const std::uint32_t> used,
                                        TrainingOptions options, ThreadTeam& team);

}  // namespace neuroshard::training
