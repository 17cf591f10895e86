#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/operators/cuda_source.h"
#include "weights/collection/cost_sources.h"
#include "weights/collection/measurement.h"
#include "weights/lookups/access_data.h"
#include "weights/lookups/stream_store.h"

namespace neuroshard::tools {

/// Where `collect compute` gets its costs from.
struct ComputeSourceOptions {
  std::string backend;                         ///< "analytic", "cpu" or "cuda".
  std::string gpu = std::string(kDefaultGpu);  ///< GPU of the analytic backend.
  std::int64_t batch = kDefaultBatchSize;
  std::int64_t memory_bytes = 0;  ///< Most that the weights of a sample take.
  std::uint64_t seed = 0;         ///< Seed of the lookups, unless these are recorded ones:
  std::optional<AccessData> accesses;
  MeasurementProtocol protocol;
  int threads = 0;           ///< Threads of the CPU backend; 0: one per core.
  std::vector<int> devices;  ///< Devices of the CUDA backend; empty: every usable one.
};

struct ComputeSources {
  std::unique_ptr<StreamStore> streams;  ///< Lookups of the sources measured.
  /// One works in each thread. They borrow the tables they are made for.
  std::vector<std::unique_ptr<ComputeCostSource>> sources;
  std::vector<CudaSource*> cuda;  ///< Sources among `sources` that are on GPUs.
  std::string hardware;           ///< For the collection's description.
};

/// `augmented` is augment_dims of `tables`; both are borrowed. Throws Error if the backend is
/// unknown or cannot run here.
[[nodiscard]] ComputeSources make_compute_sources(const ComputeSourceOptions& options,
                                                  std::span<const Table> tables,
                                                  std::span<const Table> augmented);

}  // namespace neuroshard::tools
