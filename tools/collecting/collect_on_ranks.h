#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tools/collecting/collect_comm.h"
#include "weights/collection/ranks/rank_source.h"

namespace neuroshard::tools {

/// What ranks measure, and the hardware that it belongs to.
struct MeasuredExchange {
  std::unique_ptr<ranks::Exchange> exchange;
  std::string hardware;
};

/// Of all ranks at once: between GPUs by NCCL if `command.backend` is "nccl", else in host memory.
/// Throws Error (kBackend) on all ranks if one of them has no GPU to use.
[[nodiscard]] MeasuredExchange make_exchange(const CollectComm& command,
                                             const ranks::RankGroup& group);

/// What every rank does: rank 0 draws, records and reports, the others measure with it. `command`
/// is of as many devices as there are ranks. Returns an exit code. Throws Error; `give_up` is
/// called before, with what is wrong, if the other ranks cannot know that this one has failed.
[[nodiscard]] int collect_on_ranks(const CollectComm& command,
                                   const ranks::RankMeasurement& measurement,
                                   const std::string& hardware, Console& console,
                                   const std::function<void(const char*)>& give_up = {});

/// The same between threads of this process, and between processes that meet by the file
/// `command.rendezvous`. Returns an exit code; throws Error.
[[nodiscard]] int collect_locally(const CollectComm& command, Console& console);
[[nodiscard]] int collect_over_tcp(const CollectComm& command, Console& console);

}  // namespace neuroshard::tools
