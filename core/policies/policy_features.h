#pragma once

#include <span>

#include "core/kernels/cpu_kernels.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/placement_policy.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Floats from a table's features to the next one's: kPolicyFeatures, then zeros.
inline constexpr int kPolicyFeatureStride = padded_width(kPolicyFeatures);

/// [tables + 1, kPolicyFeatureStride]: dim, rows, pooling factor, dim * rows, histogram of each
/// table, then a row of zeros. Rows, pooling factors and sizes are normalised over `tables`, by
/// their mean and population deviation; where all are alike they are 0. Dims are as they are.
[[nodiscard]] AlignedVector<float> dreamshard_features(std::span<const Table> tables);

/// Size of a table in fp16, whatever its type: AutoShard sees no other.
[[nodiscard]] double fp16_gib(const Table& table);

/// [tables + 1, kPolicyFeatureStride]: dim, rows and pooling factor, normalised by `normalization`,
/// fp16_gib(), and the histogram of each table, then a row of zeros.
[[nodiscard]] AlignedVector<float> autoshard_features(const Normalization& normalization,
                                                      std::span<const Table> tables);

/// Mean and population deviation (1 where it is 0) of dims, rows and pooling factors.
[[nodiscard]] Normalization autoshard_normalization(std::span<const Table> tables);

}  // namespace neuroshard
