#pragma once

#include "weights/collection/ranks/rank_group.h"

namespace neuroshard::ranks {

/// All ranks of this run of the tests.
[[nodiscard]] RankGroup& group();

}  // namespace neuroshard::ranks
