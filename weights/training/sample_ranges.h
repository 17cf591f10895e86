#pragma once

#include <map>
#include <span>
#include <string>

#include "neuroshard/training_data.h"
#include "neuroshard/training_ranges.h"

namespace neuroshard {

// Ranges of every quantity by which plans are compared with what models were trained on. There are
// samples.

/// "row", "dim" and "pooling_factor" of the tables in samples, "slices": their number in one.
[[nodiscard]] std::map<std::string, TrainingRange> ranges_of(const ComputeSamples& samples);
/// "devices", and of each device "dim_sum" and "start_offset_ms".
[[nodiscard]] std::map<std::string, TrainingRange> ranges_of(std::span<const CommSamples> samples);

[[nodiscard]] std::map<std::string, TrainingRange> ranges_of(const CollectiveSamples& samples);
/// "devices", "samples", "dim" and "pooling_factor".
[[nodiscard]] std::map<std::string, TrainingRange> ranges_of(const KindSamples& samples);

}  // namespace neuroshard
