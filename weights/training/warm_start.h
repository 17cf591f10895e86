#pragma once

#include "neuroshard/training.h"

namespace neuroshard::training {

/// How far a compute model of another machine is off on samples of this one if all of its costs are
/// multiplied by the factor that fits: the mean of the options' loss.
[[nodiscard]] double loss_of_start(const ComputeModel& start, const ComputeSamples& samples,
                                   const TrainingOptions& options);

/// Trains all weights of such a model, so scaled, for all epochs of the options. Unlike calibration
/// it wants thousands of samples, and costs without noise, such as those of datasheets: nothing
/// keeps it from learning noise by heart. Equal samples and seeds give equal models.
[[nodiscard]] ComputeModel trained_from(const ComputeModel& start, const ComputeSamples& samples,
                                        const TrainingOptions& options);

}  // namespace neuroshard::training
