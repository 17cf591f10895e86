#pragma once

#include <array>

#include "neuroshard/cost_models.h"

namespace neuroshard {

/// The inputs of the symmetric communication network after the first two, which are a device's dim
/// sum and start offset (ms): what all devices of a placement share. Not normalised.
using SharedCommFeatures = std::array<float, kSymmetricCommFeatures - 2>;

/// `dim_sums`, `start_offsets_ms`: [devices]; null offsets are all 0. Dim sums are whole numbers,
/// or what NodeColumns makes of them.
/// Does not depend on the order of the devices, to the last bit (docs/arithmetic.md, rule 8).
[[nodiscard]] SharedCommFeatures shared_comm_features(const float* dim_sums,
                                                      const float* start_offsets_ms, int devices,
                                                      float log2_devices);

/// Whether an input of the symmetric network is a start offset: a device's own, their mean or their
/// maximum.
[[nodiscard]] constexpr bool is_offset_input(int input) {
  return input == 1 || input == 5 || input == 6;
}

/// The last of them, which depends on the number of devices only: log2 of that number, or, beyond a
/// node of kDefaultDevicesPerNode, of as many devices as fill the nodes that so many need. Costs of
/// all-to-alls jump from node to node, and hardly differ in between. At most that of
/// kMostDevicesOfModels: with that many, nearly all that a device sends goes to other nodes.
[[nodiscard]] float log2_of_devices(int devices);

}  // namespace neuroshard
