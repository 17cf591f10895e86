#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weights/collection/cost_sources.h"
#include "weights/collection/measurement.h"
#include "weights/lookups/stream_store.h"

namespace neuroshard {

struct CudaSourceOptions {
  MeasurementProtocol protocol;
  std::int64_t memory_bytes = std::int64_t{4} << 30;  ///< Limit for the weights of a shard.
};

/// Bytes that the kernels of an operator read and wrote, whether from memory or from a cache, and
/// how long they took. The distinct rows are those that the tables' statistics promise.
struct OperatorTraffic {
  double forward_bytes = 0.0;
  double forward_ms = 0.0;
  double backward_bytes = 0.0;  ///< Keys, radix sort and update.
  double backward_ms = 0.0;

  OperatorTraffic& operator+=(const OperatorTraffic& other) {
    forward_bytes += other.forward_bytes;
    forward_ms += other.forward_ms;
    backward_bytes += other.backward_bytes;
    backward_ms += other.backward_ms;
    return *this;
  }
};

/// A source that knows how well it uses its device.
class CudaSource : public ComputeCostSource {
 public:
  /// Traffic of the timed runs of all samples so far.
  [[nodiscard]] virtual OperatorTraffic traffic() const = 0;
  /// Bytes read and written per nanosecond by a large copy within the device's memory.
  [[nodiscard]] virtual double copy_gb_per_s() = 0;
};

/// Runs the fused operator (gpu::CudaOperator) on a device, as its number in CudaDevice::index:
/// forward, backward and SGD over a batch of `streams`, the L2 overwritten before each run, timed
/// with CUDA events. `tables` are augment_dims of the tables of `streams`; both are borrowed. It
/// and its calls throw Error (kBackend) if the library was built without CUDA, the device cannot be
/// used or fails, or lacks memory.
[[nodiscard]] std::unique_ptr<CudaSource> make_cuda_source(std::span<const Table> tables,
                                                           StreamStore& streams,
                                                           std::size_t base_tables, int device,
                                                           const CudaSourceOptions& options);

/// The devices to measure on: those of `wanted`, or every usable one. Throws Error (kBackend) if
/// there is none, one of `wanted` is not usable, or they are not all of one name: their costs
/// differ.
[[nodiscard]] std::vector<int> devices_to_measure(std::span<const int> wanted);

}  // namespace neuroshard
