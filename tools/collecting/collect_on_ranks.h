#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/collecting/collect_command.h"
#include "weights/collection/collection_folder.h"
#include "weights/collection/measurement.h"
#include "weights/collection/ranks/rank_source.h"

namespace neuroshard::tools {

inline constexpr int kDefaultRankTimeoutSeconds = 300;

/// Options of `collect comm` and `collect all-reduce`. Ranks measure on the backends "local"
/// (threads of this process), "mpi" and "nccl" (one process a device).
struct RankOptions {
  std::string backend;
  std::optional<int> devices;         ///< As many as there are ranks; those of MPI know it.
  std::optional<int> rank_timeout_s;  ///< Ranks of MPI alone; nothing: the default.
  MeasurementProtocol protocol;
};

/// All but the devices.
void add_rank_options(CLI::App& command, RankOptions& options);

/// Throws Error unless the backend is known ("analytic" is, too) and a timeout is for it.
void require_rank_options(const RankOptions& options);

/// Samples that all ranks measure together.
struct RankSamples {
  std::int64_t batch = kDefaultBatchSize;  ///< Samples of an all-to-all.
  /// Throws Error if there are no samples of so many devices, or no runs to measure them.
  std::function<void(int devices)> check;
  /// Work of rank 0: draws, records and reports. `measured` says how. Returns an exit code.
  std::function<int(ranks::RankSource& source, int devices, const CollectionDescription& measured)>
      record;
};

/// Measures on a backend that is not "analytic". Returns an exit code; throws Error.
[[nodiscard]] int collect_on_ranks(const RankOptions& options, const RankSamples& samples,
                                   Console& console);

/// Work of every rank of `measurement`, on `hardware`: rank 0 records, the others measure with it.
/// Returns an exit code. Throws Error; `give_up` is called before, with what is wrong, if the other
/// ranks cannot know that this one has failed.
[[nodiscard]] int collect_as_rank(const RankOptions& options, const RankSamples& samples,
                                  const ranks::RankMeasurement& measurement,
                                  const std::string& hardware,
                                  const std::function<void(const char*)>& give_up = {});

/// On the backends "mpi" and "nccl". There are two of it: the program `neuroshard` has
/// mpi_elsewhere.cpp, which hands over to the program `neuroshard-mpi` beside it, so that neither
/// starting nor running `neuroshard` needs an MPI library; `neuroshard-mpi` has
/// collect_over_ranks.cpp. Returns an exit code; throws Error.
[[nodiscard]] int collect_over_ranks(const RankOptions& options, const RankSamples& samples,
                                     Console& console);

}  // namespace neuroshard::tools
