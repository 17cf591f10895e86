#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/collecting/collect_command.h"
#include "tools/collecting/comm_draw_options.h"
#include "weights/collection/measurement.h"

namespace neuroshard::tools {

inline constexpr int kDefaultRankTimeoutSeconds = 300;

/// Options of `collect comm`.
struct CollectComm {
  CollectionOptions collection;
  CommDrawOptions draw;
  std::optional<int> devices;  ///< Measured backends: as many as there are ranks.
  std::string backend;
  std::optional<int> rank_timeout_s;  ///< Ranks of MPI alone; nothing: the default.
  std::string network = std::string(kDefaultNetwork);
  std::int64_t batch = kDefaultBatchSize;
  MeasurementProtocol protocol;
};

/// Throws Error unless a sample of `devices` devices can be drawn and its batch divided.
void require_comm_options(const CollectComm& command);

/// `collect comm` on the backends "mpi" and "nccl". There are two of it: the program `neuroshard`
/// has mpi_elsewhere.cpp, which hands over to the program `neuroshard-mpi` beside it, so that
/// neither starting nor running `neuroshard` needs an MPI library; `neuroshard-mpi` has
/// collect_over_ranks.cpp. Returns an exit code; throws Error.
[[nodiscard]] int collect_over_ranks(const CollectComm& command, Console& console);

}  // namespace neuroshard::tools
