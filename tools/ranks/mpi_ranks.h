#pragma once

#include "tools/console/console.h"
#include "weights/collection/ranks/mpi_group.h"

namespace neuroshard::tools {

// Of the program neuroshard-mpi.

/// Ends all ranks because of an error that the others do not know of: they wait for this one.
[[noreturn]] void abort_all(const ranks::RankGroup& group, Console& console, const char* what);

}  // namespace neuroshard::tools
