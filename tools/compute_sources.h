#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weights/collection/cost_sources.h"

namespace neuroshard::tools {

/// Where `collect compute` gets its costs from.
struct ComputeSourceOptions {
  std::string backend;  ///< "analytic".
  std::string gpu = std::string(kDefaultGpu);
  std::int64_t batch = kDefaultBatch;
};

struct ComputeSources {
  /// One works in each thread. They borrow the tables they are made for.
  std::vector<std::unique_ptr<ComputeCostSource>> sources;
  std::string hardware;  ///< For the collection's description.
};

/// Throws Error if the backend is unknown or cannot run here.
[[nodiscard]] ComputeSources make_compute_sources(const ComputeSourceOptions& options,
                                                  std::span<const Table> tables);

}  // namespace neuroshard::tools
