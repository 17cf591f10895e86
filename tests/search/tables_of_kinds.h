#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/task.h"

namespace neuroshard::testing {

// Tables that may be sharded in some ways only (TableRules::kinds).

using Kinds = std::vector<ShardingKind>;

/// Bytes of a device that has more room than tests need.
inline constexpr std::int64_t kAmple = std::int64_t{1} << 36;

[[nodiscard]] Table table_of(std::int64_t rows, int dim, double pooling_factor, Kinds kinds = {});

/// A table of random size.
[[nodiscard]] Table random_table_of_kinds(Random& random, Kinds kinds);

/// Tables of any kinds on some devices of kAmple.
[[nodiscard]] Task random_task_with_kinds(std::uint64_t seed);

}  // namespace neuroshard::testing
