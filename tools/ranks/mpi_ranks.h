#pragma once

#include <optional>

#include "tools/console/console.h"
#include "weights/collection/ranks/mpi_group.h"

namespace neuroshard::tools {

// Part of the program neuroshard-mpi.

/// All ranks, for as long as `console` lives. A rank that hangs for `timeout_s`
/// (--rank-timeout-s) ends them with a message.
[[nodiscard]] ranks::MpiGroup start_mpi(const std::optional<int>& timeout_s, Console& console);

/// Ends all ranks because of an error that the others do not know of: they wait for this one.
[[noreturn]] void abort_all(const ranks::RankGroup& group, Console& console, const char* what);

}  // namespace neuroshard::tools
