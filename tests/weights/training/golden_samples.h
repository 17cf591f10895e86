#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neuroshard/training_data.h"
#include "temporary_folder.h"

namespace neuroshard::testing {

/// Makes a published compute data folder: the golden tables at each of `dims`, and `data`.
void write_compute_folder(const TemporaryFolder& folder, const std::string& data,
                          const std::vector<int>& dims);

/// 2,000 samples of the published compute data.
[[nodiscard]] const ComputeSamples& golden_compute_samples();
/// Analytic costs of so many shards of the golden tables.
[[nodiscard]] ComputeSamples analytic_samples(std::string_view gpu, std::size_t count,
                                              std::uint64_t seed);
/// 400 samples each of the published communication data for 2, 4 and 8 devices.
[[nodiscard]] const std::vector<CommSamples>& golden_comm_samples();

}  // namespace neuroshard::testing
