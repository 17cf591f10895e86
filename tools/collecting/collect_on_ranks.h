#pragma once

#include <functional>
#include <string>

#include "tools/collecting/collect_comm.h"
#include "weights/collection/ranks/rank_source.h"

namespace neuroshard::tools {

/// Work of every rank: rank 0 draws, records and reports, the others measure with it. `command` is
/// of as many devices as there are ranks; costs are those of `hardware`. Returns an exit code.
/// Throws Error; `give_up` is called before, with what is wrong, if the other ranks cannot know
/// that this one has failed.
[[nodiscard]] int collect_on_ranks(const CollectComm& command,
                                   const ranks::RankMeasurement& measurement,
                                   const std::string& hardware, Console& console,
                                   const std::function<void(const char*)>& give_up = {});

/// Collects between threads of this process. Returns an exit code; throws Error.
[[nodiscard]] int collect_locally(const CollectComm& command, Console& console);

}  // namespace neuroshard::tools
