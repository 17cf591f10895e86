#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "neuroshard/training_data.h"
#include "weights/collection/cost_sources.h"
#include "weights/collection/sample_draws.h"
#include "weights/collection/sample_log.h"

namespace neuroshard {

struct CollectionRun {
  std::uint64_t samples = 0;  ///< To have in the log at the end, those of earlier runs included.
  std::uint64_t seed = 0;
  /// Both optional and called on the calling thread. `progress` gets the samples in the log.
  std::function<void(std::uint64_t samples)> progress = nullptr;
  std::function<bool()> should_stop = nullptr;
};

/// Adds compute samples to `log` until it has `run.samples`. Sample `i` is drawn from random stream
/// `i` of the seed, so a resumed run goes on as if it had never stopped. Each source works in a
/// thread of its own (one source per GPU); samples are logged in their order whichever is done
/// first. Throws what a source or the log throws; what is logged by then stays.
void collect_compute_samples(std::span<const std::unique_ptr<ComputeCostSource>> sources,
                             std::span<const Table> tables, const ComputeDrawOptions& options,
                             const CollectionRun& run, SampleLog& log);

/// Collects communication samples, from one source.
void collect_comm_samples(CommCostSource& source, const CommDrawOptions& options,
                          const CollectionRun& run, SampleLog& log);

/// The first `count` samples of that seed, in memory.
[[nodiscard]] CommSamples drawn_comm_samples(CommCostSource& source, const CommDrawOptions& options,
                                             std::size_t count, std::uint64_t seed);

}  // namespace neuroshard
