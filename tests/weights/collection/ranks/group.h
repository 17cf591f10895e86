#pragma once

#include "weights/collection/ranks/mpi_group.h"

namespace neuroshard::ranks {

/// All ranks of this run of the tests.
[[nodiscard]] MpiGroup& group();

}  // namespace neuroshard::ranks
